package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// WIRE-3: if RefuseThreads is set, a request that continues a thread is answered like by a server that keeps no threads. It is
// never treated as a whole conversation. A request that begins a thread is a request like others. If nothing is changed, both
// pass byte for byte. So does a request that continues an answer which the proxy does not hold.
func TestRefuseThreads(t *testing.T) {
	create := strings.Replace(conversation("hello", 3), `"x_unknown"`, `"thread":{"type":"create"},"x_unknown"`, 1)
	next := `{"model":"claude-opus-5-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":"and now?"}]}`
	for name, c := range map[string]struct {
		change            func(*proxy.Config)
		shortens, refuses bool
	}{
		"refuses":  {func(c *proxy.Config) { c.RefuseThreads = true }, true, true},
		"follows":  {func(*proxy.Config) {}, true, false},
		"off":      {func(c *proxy.Config) { c.RefuseThreads, c.History.Policy = true, trim.Off }, false, false},
		"observes": {func(c *proxy.Config) { c.RefuseThreads, c.Observe = true, true }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			up := &recorder{}
			r := newRig(t, up, c.change)
			if status, answer := r.post("/v1/messages", create, "Anthropic-Beta", "message-threads-2026-08-12"); status != 200 {
				t.Fatal(status, answer)
			}
			got := up.last(t)
			if !strings.Contains(string(got.body), `"thread":{"type":"create"}`) || got.header.Get("Anthropic-Beta") != "message-threads-2026-08-12" {
				t.Errorf("upstream got %v %s", got.header, got.body)
			}
			if (string(got.body) != create) != c.shortens {
				t.Errorf("shortened: %v", !c.shortens)
			}
			for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
				was := up.count()
				status, answer := r.post(path, next)
				if !c.refuses {
					if status != 200 || string(up.last(t).body) != next {
						t.Errorf("%s: %d %s, upstream got %s", path, status, answer, up.last(t).body)
					}
					continue
				}
				var said struct {
					Type  string
					Error struct {
						Type, Message string
						Details       struct {
							Code string `json:"error_code"`
						}
					}
				}
				if err := json.Unmarshal([]byte(answer), &said); err != nil {
					t.Fatal(err, answer)
				}
				if status != 400 || up.count() != was || said.Type != "error" || said.Error.Type != "invalid_request_error" ||
					said.Error.Details.Code != "thread_unsupported_request" {
					t.Errorf("%s: %d %s", path, status, answer)
				}
			}
			if rows := r.rows(); rows[len(rows)-1].Passed != "thread" {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}
