package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/server/guard"
	"github.com/stet-dev/stet/tool"
)

// seenWait is how long stet's own tools wait for what the guard knows.
const seenWait = 2 * time.Second

// seenByAgent returns a function that asks the guard what the agent of a call did to a file with its own tools. Where no guard answers, nothing is known.
func (p *program) seenByAgent(listen string) func(context.Context, tool.Call, string) []freshness.Observation {
	return func(ctx context.Context, c tool.Call, file string) (all []freshness.Observation) {
		dir, err := p.guardDir()
		if err != nil {
			return nil
		}
		token, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil { // no guard was ever installed
			return nil
		}
		q, err := json.Marshal(guard.SeenQuery{Tool: c.Name, Arguments: c.Arguments, File: file})
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, seenWait)
		defer cancel()
		body, err := askGuard(ctx, guardURL(listen)+"/seen", string(token), bytes.NewReader(q))
		if err != nil || json.Unmarshal(body, &all) != nil {
			return nil
		}
		return all
	}
}

// guardError returns why the hooks of this user reach no guard at an address. nil: they reach it.
func (p *program) guardError(ctx context.Context, listen string) error {
	if !answers(ctx, listen) {
		return fmt.Errorf(`the guard does not answer at %s: "stet service install" starts it with the system, "stet proxy" in a terminal`, listen)
	}
	dir, err := p.guardDir()
	if err != nil {
		return err
	}
	token, _ := os.ReadFile(filepath.Join(dir, "token")) // none: the guard says so
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if _, err := askGuard(ctx, guardURL(listen)+"/seen", string(token), strings.NewReader("{}")); err != nil {
		return fmt.Errorf("a stet answers at %s, and refuses this user's hooks (%w): if it is yours, start it again; if it is another user's, choose another address with the key listen", listen, err)
	}
	return nil
}

// maxAnswer is the limit of the guard's answers, in bytes.
const maxAnswer = 1 << 20

// askGuard sends something to the guard and returns the answer.
func askGuard(ctx context.Context, url, token string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r) // without the proxy of the environment
	if err != nil {
		return nil, fmt.Errorf("the guard does not answer: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the guard: %s", cmp.Or(strings.TrimSpace(string(answer)), resp.Status))
	}
	return answer, err
}
