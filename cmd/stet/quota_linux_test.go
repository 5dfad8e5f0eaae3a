package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
)

// standsStill is a body that does not come.
const standsStill = "a body that does not come"

// A token has one quota for all endpoints together. Above it the answer is 429, with the limit and when to retry. Other tokens are
// not delayed.
func TestServeQuotas(t *testing.T) {
	upstream, err := llmtest.Start(llmtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = upstream.Close() }() // there is no state to lose
	h := newHome(t)
	s := h.serve(t, "--root", h.tree, "--upstream", upstream.URL, "--token-requests", "2")
	own, err := h.stet("token", "create", "own", "--scope", "agent", "--requests", "3", "--megabytes", "1").Output()
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]func(token, body string) *http.Response{}
	for _, e := range endpoints {
		switch e.name {
		case "MCP", "MCP elsewhere", "plain calls", "plain HTTP", "the proxy":
			requests[e.name] = func(token, body string) *http.Response {
				t.Helper()
				if body == "" {
					body = e.body
				}
				var from io.Reader = strings.NewReader(body)
				if body == standsStill {
					open, _ := io.Pipe() // it never ends
					from = open
				}
				r, err := http.NewRequestWithContext(t.Context(), e.method, s.base+strings.ReplaceAll(e.path, "TOKEN", token), from)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(e.headers); i += 2 {
					r.Header.Add(e.headers[i], e.headers[i+1])
				}
				r.Header.Set("Authorization", "Bearer "+token)
				client := http.Client{Timeout: 15 * time.Second} // a body may stand still longer
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
		}
	}
	if len(requests) != 5 {
		t.Fatal("entrances have other names")
	}
	text := func(res *http.Response) string {
		t.Helper()
		defer res.Body.Close()
		b := make([]byte, 1000)
		n, _ := res.Body.Read(b) // it is short
		return string(b[:n])
	}
	mine := strings.TrimSpace(string(own))
	large := `{"path":"a.txt","content":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, request := range requests {
		if name == "plain HTTP" {
			continue // it has no body
		}
		if res := request(mine, large); res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text(res), "quota is 1048576 bytes at once") {
			t.Errorf("%s, too large: %s", name, res.Status)
		}
	}
	for _, name := range []string{"plain calls", "MCP", "the proxy"} {
		if res := requests[name](mine, ""); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", name, res.Status, text(res))
		} else {
			text(res)
		}
	}
	for name, request := range requests {
		res := request(mine, "")
		if said := text(res); res.StatusCode != http.StatusTooManyRequests || !strings.Contains(said, "quota is 3 requests a minute") || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s, the fourth: %s %v %s", name, res.Status, res.Header, said)
		}
		if name != "plain HTTP" {
			if res := request(mine, standsStill); res.StatusCode != http.StatusTooManyRequests {
				t.Errorf("%s, a body that does not come: %s %s", name, res.Status, text(res))
			}
		}
	}
	for i, want := range []int{200, 200, 429} { // a token without its own quota
		res := requests["plain HTTP"](s.agent, "")
		if said := text(res); res.StatusCode != want || want == 429 && !strings.Contains(said, "quota is 2 requests a minute") {
			t.Errorf("%d: %s %s", i, res.Status, said)
		}
	}
	waitFor(t, func() bool {
		out, err := h.stet("audit", "--json", "--last", "0").CombinedOutput()
		return err == nil && strings.Contains(string(out), "over the quota of its token") && strings.Contains(string(out), "quota is 3 requests a minute")
	})
	for says, args := range map[string][]string{
		"a quota is a number above 0": {"token", "create", "x", "--scope", "agent", "--requests", "-1"},
		"want a number of 0 or more":  {"serve", "--no-workspace", "--token-megabytes", "-1"},
	} {
		cmd := h.stet(args...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%v: %d: %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
}
