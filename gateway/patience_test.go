package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/tool"
)

// A question is open for ten minutes. Over plain HTTP no request waits longer than clients and proxies do. On the WebSocket the
// call continues. (FILE-4)
func TestTenMinutes(t *testing.T) {
	const pause = usualApproval - time.Second
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		b := newBench(t, Relay{}, policy.Policy{})
		defer board(t, h, "host-a").host(b.handler)()
		a := board(t, h, "agent-a").agent(nil)
		defer a.Close()
		socket := begin(ctx, a, tool.Call{Name: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"socket\n"}`)})
		time.AfterFunc(pause, func() {
			for _, q := range queue.Open() {
				if err := queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}); err != nil {
					t.Error(err)
				}
			}
		})
		served := h.Handler()
		ask := func(method, path, body string) (int, wire.ToolResult) {
			r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer agent-a")
			w := httptest.NewRecorder()
			begun := time.Now()
			served.ServeHTTP(w, r)
			if took := time.Since(begun); took > 50*time.Second {
				t.Errorf("%s %s took %v", method, path, took)
			}
			var f wire.ToolResult
			if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			return w.Code, f
		}
		begun := time.Now()
		status, f := ask(http.MethodPost, "/v1/sessions/s/tools/write_file?call_id=1", `{"path":"b.txt","content":"plain\n"}`)
		for requests := 1; status == http.StatusAccepted; requests++ {
			if !f.NeedsConfirmation || requests > 20 {
				t.Fatalf("%d: %+v", requests, f)
			}
			status, f = ask(http.MethodGet, "/v1/sessions/s/calls/1", "")
		}
		if took := time.Since(begun).Round(time.Second); status != http.StatusOK || !strings.Contains(string(f.Result), `"success":true`) || took != pause {
			t.Errorf("after %v: %d %+v", took, status, f)
		}
		socket.wait(t, "", `"success":true`)
		for name, text := range map[string]string{"a.txt": "socket\n", "b.txt": "plain\n"} {
			if got := b.get(t, name); got != text {
				t.Errorf("%s holds %q", name, got)
			}
		}
		time.Sleep(2 * kept) // the kept result is dropped
	})
}
