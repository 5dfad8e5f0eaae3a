package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/test/webtest"
)

// people are the persons of a run, one at the page of each server.
type people struct {
	c    *cluster
	page [nodes]*webtest.Page
}

func newPeople(c *cluster) *people {
	c.t.Helper()
	p := &people{c: c}
	client := new(http.Client)
	for i := range nodes {
		page, err := webtest.Enter(c.t.Context(), client, c.base[i], c.token.person)
		if err != nil {
			c.t.Fatal(err)
		}
		p.page[i] = page
	}
	client.Timeout = 5 * time.Second // a disturbed server may not answer
	return p
}

// open returns the questions that a page shows.
func (p *people) open(ctx context.Context, n int) ([]*approval.Question, error) {
	var now web.QueueEvent
	err := p.get(ctx, n, "/api/questions", &now)
	return now.Open, err
}

func (p *people) get(ctx context.Context, n int, path string, into any) error {
	res, err := p.page[n].Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// approve approves a question at a page.
func (p *people) approve(ctx context.Context, n int, q *approval.Question) error {
	res, err := p.page[n].Do(ctx, http.MethodPost, "/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "approve", Seal: q.Seal})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return err
}

// approveAll approves the questions that the page shows, until ctx ends.
func (p *people) approveAll(ctx context.Context, n int) {
	for ctx.Err() == nil {
		open, err := p.open(ctx, n)
		for _, q := range open {
			_ = p.approve(ctx, n, q) // another person may have answered first
		}
		if err != nil {
			sleep(ctx, 200*time.Millisecond) // the server does not answer during a disturbance
		}
		sleep(ctx, 50*time.Millisecond)
	}
}

// shows returns an error if a page does not show exactly the questions of these sessions.
func (p *people) shows(n int, sessions ...string) error {
	open, err := p.open(context.Background(), n)
	if err != nil {
		return err
	}
	got := []string{}
	for _, q := range open {
		got = append(got, q.Session)
	}
	slices.Sort(got)
	if len(got) != len(sessions) {
		return fmt.Errorf("%d questions, of %q, want %d", len(got), got, len(sessions))
	}
	for i, s := range sessions {
		if !hasSuffix(got[i], s) {
			return fmt.Errorf("questions of %q, want those of %q", got, sessions)
		}
	}
	return nil
}
