package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// An agent without a WebSocket makes calls over plain HTTP, and asks again for the result of a call that waits for a person. An id
// is accepted once. (FILE-4)
func TestPlainHTTP(t *testing.T) {
	queue := new(approval.Queue)
	hub, _ := newHub(t, Config{Queue: queue})
	url := serveHub(t, hub)
	b := newBench(t, Relay{}, policy.Policy{})
	b.put(t, "a.txt", "one\n")
	runHost(t, url, "w", b.handler)
	agent := dialAgent(t, url, "w") // it waits for the host
	ask := func(method, path, body string) (int, *wire.ToolResult, string) {
		t.Helper()
		status, text := fetch(t, url, method, path, body, "Authorization", "Bearer agent-a")
		var r wire.ToolResult
		if err := json.Unmarshal([]byte(text), &r); err != nil && text != "" && text[0] == '{' {
			t.Fatalf("%s: %v", text, err)
		}
		return status, &r, text
	}
	const tools = "/v1/sessions/s/tools/"
	if status, r, text := ask("POST", tools+"read_file", "\ufeff"+`{"path":"a.txt"}`); status != 200 || !strings.Contains(string(r.Result), "one") || r.CallID == "" {
		t.Error(status, text)
	}
	absolute := `{"path":"` + filepath.Join(b.dir, "a.txt") + `"}` // FILE-7
	if status, r, text := ask("POST", tools+"read_file", absolute); status != 200 || r.Error != "invalid_path" || !strings.Contains(text, "use a.txt") {
		t.Error(status, text)
	}
	if r := mustCall(t, hub.Caller("w"), "read_file", absolute); r.Failed() { // MCP through the gateway
		t.Errorf("%+v", r)
	}
	if r := mustCall(t, agent, "read_file", absolute); r.Code != tool.InvalidPath {
		t.Errorf("%+v", r)
	}
	if status, r, text := ask("POST", tools+"read_file", `{"path":"../a.txt"}`); status != 200 || r.Error != "invalid_path" {
		t.Error(status, text)
	}
	status, r, text := ask("POST", tools+"write_file?call_id=w1&wait=0", `{"path":"a.txt","content":"two\n"}`)
	if status != 202 || r.CallID != "w1" {
		t.Error(status, text)
	}
	sub := queue.Subscribe()
	defer sub.Close()
	e, err := sub.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status, r, text = ask("GET", "/v1/sessions/s/calls/w1?wait=0", ""); status != 202 || !r.NeedsConfirmation || r.CallID != "w1" {
		t.Error(status, text)
	}
	if status, _, text = ask("POST", tools+"write_file?call_id=w1", `{"path":"a.txt","content":"two\n"}`); status != 409 {
		t.Error(status, text)
	}
	if err := queue.Answer(e.Opened.ID, approval.Answer{Verdict: approval.Approve, Seal: e.Opened.Seal, By: "desk"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a client may fetch it twice, because an answer may be lost
		if status, r, text = ask("GET", "/v1/sessions/s/calls/w1", ""); status != 200 || !strings.Contains(string(r.Result), `"success":true`) || r.CallID != "w1" {
			t.Error(status, text)
		}
	}
	if status, _, text = ask("POST", tools+"write_file?call_id=w2&wait=0", `{"path":"a.txt","content":"three\n"}`); status != 202 {
		t.Error(status, text)
	}
	if status, r, text = ask("DELETE", "/v1/sessions/s/calls/w2", ""); status != 200 || r.Error != "cancelled" {
		t.Error(status, text)
	}
	if got := b.get(t, "a.txt"); got != "two\n" {
		t.Errorf("%q", got)
	}
	if out := b.outcomes(t); len(out) != 1 || out[0].Outcome != record.OK || out[0].By != "person desk" {
		t.Errorf("%+v", out)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", tools + "read_file", `[1]`, 400, "a JSON object"},
		{"POST", tools + "read_file", `{"path":`, 400, "a JSON object"},
		{"POST", tools + "read_file?timeout_seconds=0", `{}`, 400, "timeout_seconds is a whole number"},
		{"POST", tools + "read_file?wait=x", `{}`, 400, "wait is a whole number"},
		{"POST", tools + "read_file?call_id=a%2Fb", `{}`, 400, "call_id is letters"},
		{"POST", tools + "read_file?workspace=v", `{}`, 200, "host_unavailable"},
		{"POST", "/v1/sessions/a%20b/tools/read_file", `{}`, 400, "a session is named"},
		{"POST", tools + "no_such_tool", `{}`, 200, "There is no tool"},
		{"GET", "/v1/sessions/s/calls/none", "", 404, "no such call"},
		{"GET", "/v1/sessions/other/calls/w1", "", 404, "no such call"},
		{"DELETE", "/v1/sessions/s", "", 204, ""},
	} {
		if status, _, text := ask(c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	if status, text := fetch(t, url, "GET", "/v1/sessions/s/calls/w1", "", "Authorization", "Bearer agent-b"); status != 404 {
		t.Error("another token reaches the call:", text)
	}
}

// A result is kept for a client that asks again. A large result is kept until it was fetched. The call is still done only once.
// (FILE-4)
func TestResultsKept(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		served := h.Handler()
		ask := func(method, path string) (int, string) {
			r := httptest.NewRequest(method, "http://127.0.0.1/v1/sessions/s/"+path, strings.NewReader(""))
			r.Header.Set("Authorization", "Bearer agent-a")
			w := httptest.NewRecorder()
			served.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		results := map[string]string{"1": `{"content":"small"}`, "2": `{"content":"` + strings.Repeat("x", smallAnswer) + `"}`}
		for id, result := range results {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if status, text := ask("POST", "tools/read_file?call_id="+id); status != 200 {
					t.Errorf("%d %.100s", status, text)
				}
			}()
			host.result(want[*wire.ToolCall](host).CallID, result)
			<-ended
		}
		if !free(h) {
			t.Error("a large result that was fetched is counted")
		}
		for id, status := range map[string]int{"1": 200, "2": 404} {
			if got, text := ask("GET", "calls/"+id); got != status {
				t.Errorf("%s: %d %.100s", id, got, text)
			}
		}
		if _, text := ask("POST", "tools/read_file?call_id=1"); !strings.Contains(text, "done once") {
			t.Errorf("%.100s", text)
		}
		time.Sleep(kept)
		synctest.Wait()
		if got, _ := ask("GET", "calls/1"); got != 404 {
			t.Error("it is kept for ever")
		}
	})
}

// The number of kept calls is bounded, even with small results.
func TestKeptCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restCalls{byID: map[string]*restCall{}}
		for i := range 2 * maxKept / keptCall {
			c := &restCall{call: &call{f: wire.ToolCall{CallID: fmt.Sprint(i)}}, result: &wire.ToolResult{}, release: func() {}}
			r.byID[c.call.f.CallID] = c
			r.expire(c)
		}
		r.mu.Lock()
		if n := len(r.byID); n != len(r.ended) || n > maxKept/keptCall {
			t.Errorf("%d calls are kept", n)
		}
		r.mu.Unlock()
		time.Sleep(kept)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.byID)+len(r.ended)+r.bytes != 0 {
			t.Errorf("%d calls and %d bytes are kept for ever", len(r.byID), r.bytes)
		}
	})
}

// A token for one workspace is refused at another one, and the trail records it. (FILE-11)
func TestPlainHTTPElsewhere(t *testing.T) {
	trail := new(recordtest.Memory)
	bubble(t, Config{Journal: &record.Journal{Trail: trail}, Authority: narrow{}}, func(t *testing.T, h *Hub, _ *logged) {
		defer h.config.Journal.Close()
		r := httptest.NewRequest("POST", "http://127.0.0.1/v1/sessions/s/tools/read_file?workspace=w", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer any")
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "permission_denied") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if got := recorded(t, h, trail); len(got) != 1 || !strings.Contains(got[0], `for workspace "v" alone`) {
			t.Errorf("%q", got)
		}
	})
}

// narrow is an authority with one agent, whose token is for one workspace.
type narrow struct{}

func (narrow) Identify(string) (Identity, error) {
	return Identity{ID: "a", Name: "a", Scopes: []string{Agents}, Workspace: "v"}, nil
}

func (narrow) Holds(Identity) bool { return true }

// A request without room in memory is told when to retry.
func TestNoRoomForBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := limits.NewBudget(limits.Process, 1<<20)
		hub, _ := newHub(t, Config{Memory: memory})
		other, err := limits.TryAcquire(memory.Limit(), memory)
		if err != nil {
			t.Fatal(err)
		}
		post := func() *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "http://localhost/v1/sessions/s/tools/read_file", strings.NewReader(`{"path":"a"}`))
			r.Header.Set("Authorization", "Bearer agent-a")
			w := httptest.NewRecorder()
			hub.Handler().ServeHTTP(w, r)
			return w
		}
		if w := post(); w.Code != 503 || w.Header().Get("Retry-After") != "5" {
			t.Error(w.Code, w.Header(), w.Body)
		}
		other()
		if w := post(); w.Code != 200 {
			t.Error(w.Code, w.Body)
		}
		if _, err := limits.TryAcquire(memory.Limit(), memory); err != nil {
			t.Error("room is not given back:", err)
		}
	})
}

// Time limits above the maximum are reduced to it. (FILE-4)
func TestLongTimes(t *testing.T) {
	for n, want := range map[int]time.Duration{0: usualTimeout, 1: time.Second, 86_400: longest, 86_401: longest, 1e18: longest, math.MaxInt: longest} {
		if got := seconds(n, usualTimeout); got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
	for wait, want := range map[string]time.Duration{"0": 0, "601": longestWait, "1000000000000000000": longestWait} {
		r := httptest.NewRequest("GET", "/v1/sessions/s/calls/c?wait="+wait, nil)
		if got, why := waitIn(r); got != want || why != "" {
			t.Errorf("%s: %v %s", wait, got, why)
		}
	}
	r := httptest.NewRequest("GET", "/v1/sessions/s/calls/c?wait=10000000000000000000", nil)
	if _, why := waitIn(r); why == "" {
		t.Error("an invalid number is accepted")
	}
}

// A path with two slashes is handled as with one, without a redirect.
func TestSlashes(t *testing.T) {
	h, _ := newHub(t, Config{})
	for path, status := range map[string]int{"//v1/workspaces": 200, "/v1//workspaces": 200, "/v1/workspaces//": 404, "//v1//sessions/a%2Fb/tools/x": 405} {
		r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		r.Header.Set("Authorization", "Bearer agent-a")
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) { // also where there is nothing
			t.Errorf("%s: %q is no JSON", path, w.Body)
		}
	}
}
