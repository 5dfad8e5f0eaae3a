package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

var ctx = context.Background()

// bubble runs a test in a synctest bubble, with a hub.
func bubble(t *testing.T, c Config, f func(t *testing.T, h *Hub, log *logged)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, log := newHub(t, c)
		defer h.Close()
		f(t, h, log)
	})
}

// A call's default time limit is 30 s. Then its host is told to end it, and the host's result counts. If the host does not answer,
// the result says that this is not known. (FILE-4)
func TestTimeout(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, log *logged) {
		host := rawHost(t, h, wire.CanCancel)
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		call := want[*wire.ToolCall](host)
		if c := want[*wire.Cancel](host); c.CallID != call.CallID || c.Reason != "timeout" {
			t.Errorf("%+v", c)
		}
		host.send(&wire.ToolResult{CallID: call.CallID, Error: "cancelled"})
		f.wait(t, tool.Timeout, "timeout: The call took longer than 30s. Nothing was written.")
		if f.took != 30*time.Second {
			t.Errorf("it took %v", f.took)
		}
		host.result(call.CallID, `{}`)

		// The host finished just before the end.
		f = begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		call = want[*wire.ToolCall](host)
		want[*wire.Cancel](host)
		host.result(call.CallID, `{"success":true}`)
		f.wait(t, "", `{"success":true}`)

		// Nothing is said of writing where a call only reads.
		f = begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"})
		call = want[*wire.ToolCall](host)
		want[*wire.Cancel](host)
		host.send(&wire.ToolResult{CallID: call.CallID, Error: "cancelled"})
		f.wait(t, tool.Timeout, "timeout: The call took longer than 30s. Nothing was read.")

		// The host does not answer.
		f = begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		want[*wire.ToolCall](host)
		f.wait(t, tool.Timeout, "longer than 30s. Whether it was done is not known: look before you repeat it.")
		if f.took != 32*time.Second {
			t.Errorf("it took %v", f.took)
		}
		want[*wire.Cancel](host)
		caller := h.Caller("w")
		caller.Timeout = 5 * time.Second
		f = begin(ctx, caller, tool.Call{Name: "read_file"})
		want[*wire.ToolCall](host)
		want[*wire.Cancel](host)
		f.wait(t, tool.Timeout, "The call took longer than 5s.\"")
		synctest.Wait()
		if !strings.Contains(log.String(), `msg="result dropped" why="late, duplicate or of no call"`) {
			t.Error(log)
		}
	})
}

// The time of a person does not count for the call, and has its own limit. (FILE-4)
func TestPersonsTime(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanCancel)
		var waits []bool
		caller := h.Caller("w")
		caller.Waits = func(_ context.Context, _ tool.Call, waiting bool) { waits = append(waits, waiting) }
		f := begin(ctx, caller, tool.Call{Name: "write_file"})
		call := want[*wire.ToolCall](host)
		if !call.RequiresConfirmation {
			t.Error("the gateway did not set requires_confirmation") // (FILE-3)
		}
		time.Sleep(20 * time.Second)
		host.send(&wire.ToolResult{CallID: call.CallID, NeedsConfirmation: true})
		time.Sleep(9 * time.Minute)
		host.send(&wire.Progress{CallID: call.CallID, State: wire.Working})
		time.Sleep(9 * time.Second)
		host.result(call.CallID, `{"success":true}`)
		f.wait(t, "", "true")
		if fmt.Sprint(waits) != "[true false]" {
			t.Error(waits)
		}

		f = begin(ctx, caller, tool.Call{Name: "write_file"})
		call = want[*wire.ToolCall](host)
		time.Sleep(20 * time.Second)
		host.send(&wire.ToolResult{CallID: call.CallID, NeedsConfirmation: true})
		time.Sleep(9 * time.Minute)
		host.send(&wire.Progress{CallID: call.CallID, State: wire.Working})
		want[*wire.Cancel](host)
		host.send(&wire.ToolResult{CallID: call.CallID, Error: "cancelled"})
		f.wait(t, tool.Timeout, "longer than 30s. Nothing")
		if f.took != 9*time.Minute+30*time.Second {
			t.Errorf("it took %v", f.took)
		}

		f = begin(ctx, caller, tool.Call{Name: "write_file"})
		call = want[*wire.ToolCall](host)
		host.send(&wire.ToolResult{CallID: call.CallID, NeedsConfirmation: true})
		want[*wire.Cancel](host)
		host.send(&wire.ToolResult{CallID: call.CallID, Error: "cancelled"})
		f.wait(t, tool.Timeout, "No person answered within 10m0s. Nothing was written.")
		if f.took != 10*time.Minute {
			t.Errorf("it took %v", f.took)
		}
	})
}

// A call that has to name a workspace is wrong, and not to be tried again. (FILE-5)
func TestSeveralWorkspaces(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		agent := join(t, h, "agent-a")
		agent.hello(wire.Hello{Role: wire.Agent})
		for _, c := range []struct {
			workspace string
			code      tool.Code
			text      string
		}{{"", tool.HostUnavailable, "No host"}, {"v", "", ""}, {"w", tool.InvalidArgument, `[\"v\" \"w\"]`}} {
			if c.workspace != "" {
				join(t, h, "host-a").hello(wire.Hello{Role: wire.Host, Workspace: c.workspace, Tools: rawTools})
			}
			if c.code == "" {
				continue
			}
			agent.read("1")
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/sessions/s/tools/read_file", nil)
			r.Header.Set("Authorization", "Bearer agent-a")
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			for _, said := range []string{string(want[*wire.ToolResult](agent).Result), w.Body.String()} {
				if !strings.Contains(said, string(c.code)+": ") || !strings.Contains(said, c.text) {
					t.Errorf("%s", said)
				}
			}
		}
	})
}

// A result that reaches a call after another one has ended it is not delivered: a caller gets one result. (FILE-4)
func TestOneResult(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host, agent := rawHost(t, h), join(t, h, "agent-a")
		agent.hello(wire.Hello{Role: wire.Agent})
		var calls []*call
		for _, id := range []string{"1", "2"} {
			agent.read(id)
			sent := want[*wire.ToolCall](host)
			c, _ := h.calls.find(sent.CallID)
			calls = append(calls, c)
		}
		host.result(calls[0].f.CallID, `{"n":1}`)
		want[*wire.ToolResult](agent)
		calls[0].fromHost(&wire.ToolResult{CallID: calls[0].f.CallID, Result: json.RawMessage(`{"n":1}`)})
		host.result(calls[1].f.CallID, `{"n":2}`)
		if r := want[*wire.ToolResult](agent); r.CallID != "2" {
			t.Errorf("%+v", r)
		}
	})
}

// Results without a waiting call are dropped and logged with the reason. A second result changes nothing. (FILE-4)
func TestStrayResults(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, log *logged) {
		host := rawHost(t, h)
		f := begin(ctx, h.Caller("w"), tool.Call{ID: "1", Session: "s", Name: "read_file"})
		call := want[*wire.ToolCall](host)
		host.result("of-no-call", `{}`)
		host.result(call.CallID, `{"n":1}`)
		host.result(call.CallID, `{"n":2}`)
		host.send(&wire.Progress{CallID: call.CallID, State: wire.Working})
		f.wait(t, "", `{"n":1}`)
		synctest.Wait()
		if n := strings.Count(log.String(), "result dropped"); n != 3 {
			t.Errorf("%d: %s", n, log)
		}
		// The hub tells a late result from a result of an unknown call.
		h.result(Message{Frame: &wire.ToolResult{CallID: call.CallID}})
		h.result(Message{Frame: &wire.ToolResult{CallID: "other"}})
		for _, why := range []string{"late or duplicate: the call is over", "no such call"} {
			if !strings.Contains(log.String(), why) {
				t.Errorf("no %q in %s", why, log)
			}
		}
		// An id is accepted once.
		begin(ctx, h.Caller("w"), tool.Call{ID: "1", Session: "s", Name: "read_file"}).wait(t, tool.InvalidArgument, "used before")
	})
}

// Calls fail at once if there is no host or the host is lost, and say what is known. (FILE-4)
func TestNoHost(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"})
		f.wait(t, tool.HostUnavailable, `host of workspace \"w\" is not connected right now`)
		host := rawHost(t, h)
		read, write := begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"}), begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		want[*wire.ToolCall](host)
		want[*wire.ToolCall](host)
		host.c.abort()
		read.wait(t, tool.HostUnavailable, `The host of workspace \"w\" was lost."`)
		write.wait(t, tool.HostUnavailable, "Whether it was done is not known")
		if read.took != 0 || write.took != 0 {
			t.Error(read.took, write.took)
		}
		begin(ctx, h.Caller("v"), tool.Call{Name: "read_file"}).wait(t, tool.HostUnavailable, "")
	})
}

// When a caller disconnects, its call is ended. (FILE-4)
func TestCancel(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanCancel)
		going, cancel := context.WithCancel(ctx)
		f := begin(going, h.Caller("w"), tool.Call{Name: "write_file"})
		call := want[*wire.ToolCall](host)
		cancel()
		if c := want[*wire.Cancel](host); c.Reason != "caller" {
			t.Errorf("%+v", c)
		}
		host.send(&wire.ToolResult{CallID: call.CallID, Error: "cancelled", Result: json.RawMessage(`{"success":false,"error":"cancelled: as the host says"}`)})
		f.wait(t, tool.Cancelled, "as the host says")
	})
}

// Calls in a minute are limited by session. (FILE-10)
func TestRate(t *testing.T) {
	bubble(t, Config{Limits: Limits{Rate: 2}}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		done := func(session string) {
			t.Helper()
			f := begin(ctx, h.Caller("w"), tool.Call{Session: session, Name: "read_file"})
			host.result(want[*wire.ToolCall](host).CallID, `{}`)
			f.wait(t, "", "{}")
		}
		done("a")
		done("a")
		begin(ctx, h.Caller("w"), tool.Call{Session: "a", Name: "read_file"}).wait(t, tool.RateLimited, "Try again in 60.0 s.")
		done("b")
		time.Sleep(time.Minute)
		done("a")
	})
}

// A failure at the host is an error without details.
func TestBroke(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"})
		id := want[*wire.ToolCall](host).CallID
		host.send(&wire.Error{Code: "invalid_argument", Message: "what is that", CallID: id})
		if <-f.done; f.err == nil || !strings.Contains(f.err.Error(), "what is that") {
			t.Errorf("%+v %v", f.res, f.err)
		}
	})
}

// A gateway that drains waits for running calls and refuses new ones.
func TestDrain(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"})
		call := want[*wire.ToolCall](host)
		drained := make(chan error, 1)
		go func() { drained <- h.Drain(ctx) }()
		synctest.Wait()
		begin(ctx, h.Caller("w"), tool.Call{Name: "read_file"}).wait(t, tool.HostUnavailable, "shutting down")
		if h.enterConnection() {
			t.Error("a connection is let in")
		}
		select {
		case err := <-drained:
			t.Errorf("it did not wait: %v", err)
		default:
		}
		host.result(call.CallID, `{}`)
		f.wait(t, "", "{}")
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
	// Drain returns when its ctx ends, and Close ends the remaining calls.
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		f := begin(ctx, h.Caller("w"), tool.Call{Name: "write_file"})
		want[*wire.ToolCall](host)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := h.Drain(short); err == nil {
			t.Error("it is drained")
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		f.wait(t, tool.HostUnavailable, "Whether it was done is not known")
	})
}

// A call that waits for a person takes no room from other calls. They are admitted and do not time out meanwhile. (FILE-4)
func TestWaitingTakesNoRoom(t *testing.T) {
	const room = 64 << 10
	bubble(t, Config{Limits: Limits{Bytes: room}}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanCancel)
		large := json.RawMessage(`{"path":"a.txt","content":"` + strings.Repeat("x", room/2) + `"}`)
		var asked []*future
		var ids []string
		ask := func() {
			t.Helper()
			asked = append(asked, begin(ctx, h.Caller("w"), tool.Call{Session: "a", Name: "write_file", Arguments: large}))
			ids = append(ids, want[*wire.ToolCall](host).CallID)
			host.send(&wire.ToolResult{CallID: ids[len(ids)-1], NeedsConfirmation: true})
			synctest.Wait()
		}
		for range 4 {
			ask()
		}
		f := begin(ctx, h.Caller("w"), tool.Call{Session: "b", Name: "read_file"})
		host.result(want[*wire.ToolCall](host).CallID, `{}`)
		f.wait(t, "", "{}")
		// The bytes of calls that wait for a person are limited too: above that limit, later calls wait.
		for f := h.calls.schedulerOf("w"); f.inFlight == 0; {
			ask()
		}
		if n := len(asked); n < 2*maxYielded-2 || n > 2*maxYielded {
			t.Errorf("%d calls stand aside", n)
		}
		for _, id := range ids {
			host.send(&wire.Progress{CallID: id, State: wire.Working})
			host.result(id, `{"success":true}`)
		}
		for _, f := range asked {
			f.wait(t, "", "true")
		}
		if f := h.calls.schedulerOf("w"); f.inFlight != 0 || f.yielded != 0 || len(f.sessions) != 0 {
			t.Errorf("%+v", f)
		}
	})
}
