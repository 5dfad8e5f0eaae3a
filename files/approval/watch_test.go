package approval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

// A front end watches a queue, loses the connection and watches again, while questions open and close. Together its events are the
// queue's events, without gaps or repeated events.
func TestWatchAgain(t *testing.T) {
	var q approval.Queue
	const askers, each = 4, 100
	var wg sync.WaitGroup
	for n := range askers {
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					cancel() // the question is withdrawn
				}
				_, _ = q.Ask(ctx, approval.Question{Path: fmt.Sprint(n, "-", i), Seal: "s"})
				cancel()
			}
		})
	}
	done := make(chan struct{})
	answering, stop := context.WithCancel(t.Context())
	var answers sync.WaitGroup
	answers.Go(func() {
		sub := q.Subscribe()
		defer func() { _ = sub.Close() }()
		for {
			e, err := sub.Next(answering)
			if err != nil {
				return
			}
			if e.Opened != nil { // an ended question cannot be answered
				_ = q.Answer(e.Opened.ID, approval.Answer{Verdict: approval.Approve, Seal: "s", By: "desk"})
			}
		}
	})
	go func() {
		wg.Wait()
		close(done)
	}()

	ended := map[string]bool{}
	for over := false; !over; {
		select {
		case <-done:
			over = true // look once more at the end
		default:
		}
		open, gone, sub := q.Watch(10_000)
		var ids []string
		for _, x := range open {
			if ended[x.ID] {
				t.Fatalf("%s is open again", x.Path)
			}
			ids = append(ids, x.ID)
		}
		for _, x := range gone {
			ended[x.ID] = true
			if x.Path == "" || x.At.IsZero() || slices.Contains(ids, x.ID) {
				t.Fatalf("ended: %+v", x)
			}
		}
		for range rand.IntN(20) {
			waiting, stop := context.WithCancel(t.Context())
			if over {
				stop()
			} else {
				go func() { <-done; stop() }()
			}
			e, err := sub.Next(waiting)
			stop()
			switch {
			case err != nil:
			case e.Opened != nil && (ended[e.Opened.ID] || slices.Contains(ids, e.Opened.ID)):
				t.Fatalf("%s was told before", e.Opened.Path)
			case e.Opened != nil:
				ids = append(ids, e.Opened.ID)
			case !slices.Contains(ids, e.Closed.ID):
				t.Fatalf("%+v ended, but was never opened", e.Closed)
			default:
				ended[e.Closed.ID] = true
				ids = slices.DeleteFunc(ids, func(id string) bool { return id == e.Closed.ID })
			}
		}
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	answers.Wait()
	if len(ended) != askers*each {
		t.Errorf("%d questions ended, want %d", len(ended), askers*each)
	}
}

// Watch returns only the newest ended questions, up to the limit.
func TestWatchEnded(t *testing.T) {
	var q approval.Queue
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 5 {
		_, _ = q.Ask(gone, approval.Question{Path: fmt.Sprint(i)})
	}
	_, ended, sub := q.Watch(2)
	defer func() { _ = sub.Close() }()
	if len(ended) != 2 || ended[0].Path != "3" || ended[1].Path != "4" || ended[1].How != "withdrawn" {
		t.Errorf("ended %+v", ended)
	}
}
