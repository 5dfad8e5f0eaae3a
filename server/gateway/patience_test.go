package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/gateway/wire"
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

// The time that a caller gives a person is the deadline of the question wherever it is shown: in the host's own queue, at the host's
// gateway, and at other gateways. Everywhere the question ends as expired then, and nothing can approve it. (FILE-4)
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		seconds int
		is      time.Duration
	}{{1, time.Second}, {0, usualApproval}, {1200, 20 * time.Minute}, {86_400, longest}, {1 << 30, longest}} {
		for _, own := range []bool{false, true} {
			bus, here := new(Local), new(approval.Queue)
			queues := []*approval.Queue{new(approval.Queue), new(approval.Queue)}
			bubble(t, Config{Queue: queues[0], Bus: bus}, func(t *testing.T, h *Hub, _ *logged) {
				there, _ := newHub(t, Config{Queue: queues[1], Bus: bus})
				asker := Relay{}
				if own {
					asker.Next, queues = here, []*approval.Queue{here}
				}
				b := newBench(t, asker, policy.Policy{})
				defer board(t, h, "host-a").host(b.handler)()
				time.Sleep(2 * beatEvery) // the hubs know each other
				agent := join(t, there, "agent-a")
				agent.hello(wire.Hello{Role: wire.Agent, Workspace: "w"})
				begun := time.Now()
				agent.send(&wire.ToolCall{
					CallID: "1", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"one"}`), ApprovalTimeoutSeconds: c.seconds,
				})
				synctest.Wait()
				third := new(approval.Queue)
				if !own { // a gateway that starts later shows the time that is left
					time.Sleep(c.is / 2)
					newHub(t, Config{Queue: third, Bus: bus})
					time.Sleep(c.is / 4)
					synctest.Wait()
					if c.is > beatEvery*8 {
						queues = append(queues, third)
					}
				}
				var asked []approval.Question
				for i, q := range queues {
					open := q.Open()
					if len(open) != 1 || !open[0].Expires.Equal(begun.Add(c.is)) {
						t.Fatalf("%v, queue %d: %+v", c, i, open)
					}
					asked = append(asked, open[0])
				}
				for {
					r := want[*wire.ToolResult](agent)
					if r.NeedsConfirmation {
						continue
					}
					if took := time.Since(begun); took != c.is || r.Error != string(tool.Timeout) || !strings.Contains(string(r.Result), fmt.Sprintf("within %v. Nothing was written.", c.is)) {
						t.Errorf("%v: after %v: %+v", c, took, r)
					}
					break
				}
				synctest.Wait()
				for i, q := range queues {
					if err := q.Answer(asked[i].ID, approval.Answer{Verdict: approval.Approve, Seal: asked[i].Seal}); err == nil || !strings.HasSuffix(err.Error(), "expired") {
						t.Errorf("%v, queue %d: %v", c, i, err)
					}
				}
				if got := b.get(t, "a.txt"); got != "" {
					t.Errorf("written: %q", got)
				}
			})
		}
	}
}

// A host that asks for longer than the call allows, or that does not end its call, does not keep the question open. (FILE-4)
func TestPatienceOfOtherHosts(t *testing.T) {
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanAsk)
		for _, late := range []bool{false, true} {
			f := begin(ctx, h.Caller("w"), tool.Call{Name: "write_file", Patience: 2 * time.Second})
			call := want[*wire.ToolCall](host)
			if call.ApprovalTimeoutSeconds != 2 {
				t.Errorf("%+v", call)
			}
			now := time.Now()
			ask := func(id string) {
				host.send(&wire.Approval{ID: id, CallID: call.CallID, Question: &approval.Question{Asked: now, Expires: now.Add(time.Hour)}})
				synctest.Wait()
			}
			host.send(&wire.ToolResult{CallID: call.CallID, NeedsConfirmation: true})
			if ask("1"); late {
				want[*wire.Approval](host)
				f.wait(t, tool.Timeout, "No person answered within 2s.")
				continue
			}
			if open := queue.Open(); len(open) != 1 || open[0].Expires.Sub(now) != 2*time.Second {
				t.Fatalf("%+v", open)
			}
			time.Sleep(3 * time.Second)
			if a := want[*wire.Approval](host); a.Code != string(tool.Timeout) || len(queue.Open()) != 0 {
				t.Errorf("%+v", a)
			}
			ask("2")
			if a := want[*wire.Approval](host); a.Code != string(tool.Cancelled) || len(queue.Open()) != 0 {
				t.Errorf("%+v", a)
			}
			f.wait(t, tool.Timeout, "No person answered within 2s.")
		}
	})
}

// A timer that had begun to end when the call got more time does not end the call. (FILE-4)
func TestOldTimer(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanCancel)
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		id := want[*wire.ToolCall](host).CallID
		c, _ := h.calls.find(id)
		host.send(&wire.ToolResult{CallID: id, NeedsConfirmation: true})
		synctest.Wait()
		c.timeout(1) // of the call's own time
		host.send(&wire.Progress{CallID: id, State: wire.Working})
		synctest.Wait()
		c.timeout(2) // of the person's time
		host.result(id, `{"success":true}`)
		f.wait(t, "", "true")
	})
}
