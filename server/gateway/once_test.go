package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// dialledBy runs a host whose gateway is the test: each connection comes out of dialled. stop waits for the host.
func dialledBy(t *testing.T, host *Host) (dialled chan *raw, stop func()) {
	dialled = make(chan *raw, 1)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- host.run(running, func(context.Context) (connection, error) {
			here, there := newPipe()
			dialled <- &raw{t, there}
			return here, nil
		})
	}()
	return dialled, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A host runs a call once, even if its gateway sends it again: while it runs, after it ended, and over another connection. (FILE-4)
func TestHostDoesCallsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := &slowly{}
		dialled, stop := dialledBy(t, &Host{Workspace: "w", Caller: work})
		greet := func(resumed bool) *raw {
			hub := <-dialled
			want[*wire.Hello](hub)
			hub.send(&wire.Hello{Version: wire.Version, Session: "s", Resume: "secret", Resumed: resumed})
			return hub
		}
		call := &wire.ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{"n":1}`)}
		hub := greet(false)
		hub.send(call)
		hub.send(call)
		if r := want[*wire.ToolResult](hub); r.CallID != "1" || r.Error != "" {
			t.Errorf("%+v", r)
		}
		hub.send(call)
		synctest.Wait()
		hub.c.abort()
		hub = greet(true)
		hub.send(call)
		hub.send(&wire.ToolCall{CallID: "2", ToolName: "read_file", Arguments: json.RawMessage(`{"n":2}`)})
		for _, id := range []string{"1", "2"} { // the result that was not acknowledged, and the new one
			if r := want[*wire.ToolResult](hub); r.CallID != id || r.Error != "" {
				t.Errorf("%+v", r)
			}
		}
		time.Sleep(time.Minute)
		if work.n != 2 {
			t.Errorf("%d calls were done", work.n)
		}
		stop()
	})
}

// stubborn is a Caller whose calls do not end early.
type stubborn struct{ slowly }

func (s *stubborn) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return s.slowly.Call(context.Background(), c)
}

// The result of a call that the gateway has forgotten does not answer another call of the same id. (FILE-4)
func TestResultOfAnEarlierEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialled, stop := dialledBy(t, &Host{Workspace: "w", Caller: new(stubborn)})
		for n := range 2 {
			hub := <-dialled
			want[*wire.Hello](hub)
			hub.send(&wire.Hello{Version: wire.Version, Session: "s", Resume: "secret"})
			hub.send(&wire.ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
			if synctest.Wait(); n == 0 {
				hub.c.abort()
			} else if r := want[*wire.ToolResult](hub); string(r.Result) != `{"n":1}` {
				t.Errorf("%+v", r)
			}
		}
		stop()
	})
}

// A gateway that does not know a host's session cannot report the end of its client sessions. So these sessions end, with their
// grants. (FILE-6)
func TestSessionsEndWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over []string
		dialled, stop := dialledBy(t, &Host{Workspace: "w", Caller: new(slowly), End: func(session string) { over = append(over, session) }})
		for _, session := range []string{"a", "b"} {
			hub := <-dialled
			want[*wire.Hello](hub)
			hub.send(&wire.Hello{Version: wire.Version, Session: session, Resume: "secret " + session})
			for _, n := range []string{"1", "2"} {
				hub.send(&wire.ToolCall{CallID: session + n, Session: session + n, ToolName: "read_file", Arguments: json.RawMessage(`{"n":1}`)})
			}
			hub.send(&wire.Event{Event: wire.Ended, Session: session + "2"})
			synctest.Wait()
			hub.c.abort()
		}
		want[*wire.Hello](<-dialled)
		if got := fmt.Sprint(over); got != "[a2 a1 b2]" {
			t.Error(got)
		}
		stop()
	})
}
