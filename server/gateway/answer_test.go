package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// read makes a read call.
func (r *raw) read(id string) {
	r.t.Helper()
	r.send(&wire.ToolCall{CallID: id, ToolName: "read_file", Arguments: json.RawMessage(`{}`)})
}

// free reports whether a hub holds no bytes.
func free(h *Hub) bool {
	release, err := limits.TryAcquire(h.config.Memory.Limit(), h.config.Memory)
	if err == nil {
		release()
	}
	return err == nil
}

// A result in one frame is dropped if there is no room for it, and its caller is told when to ask again. The hub does not hold a
// result that an agent has received.
func TestResultsAreBounded(t *testing.T) {
	bubble(t, Config{Memory: limits.NewBudget(limits.Process, 1<<20)}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		agent := join(t, h, "agent-a")
		agent.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanResume}})
		large := `{"content":"` + strings.Repeat("x", 700<<10) + `"}`
		read := func(id string) *wire.ToolResult {
			agent.read(id)
			host.result(want[*wire.ToolCall](host).CallID, large)
			return want[*wire.ToolResult](agent)
		}
		if r := read("1"); r.Error != "" || string(r.Result) != large {
			t.Fatalf("%s %.100s", r.Error, r.Result)
		}
		if r := read("2"); r.Error != string(tool.RateLimited) || !strings.Contains(string(r.Result), "Try again in 5.0 s") {
			t.Errorf("%s %.100s", r.Error, r.Result)
		}
		agent.send(&wire.Ack{Received: 2})
		synctest.Wait()
		if !free(h) {
			t.Error("a result is held that the agent has")
		}
		if r := read("3"); r.Error != "" {
			t.Errorf("%s %.100s", r.Error, r.Result)
		}
		agent.c.abort()
		time.Sleep(h.config.Away + time.Second)
		synctest.Wait()
		if !free(h) {
			t.Error("a result is held for an agent that is gone")
		}
	})
}

// Content in parts waits after its first part until there is room: until the content before it was sent or its connection was lost.
// The wait has a limit. (FILE-9)
func TestContentsWaitForRoom(t *testing.T) {
	bubble(t, Config{Memory: limits.NewBudget(limits.Process, streamBytes)}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanParts, wire.CanCancel)
		var agents []*raw
		var calls []string
		for i := range 3 {
			a := join(t, h, "agent-a")
			a.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanParts}})
			a.read(fmt.Sprint(i))
			calls = append(calls, want[*wire.ToolCall](host).CallID)
			host.send(&wire.Part{CallID: calls[i], Data: []byte("first")})
			want[*wire.Part](a)
			a.send(&wire.Taken{CallID: fmt.Sprint(i), Seq: 0})
			agents = append(agents, a)
			if i == 0 {
				want[*wire.Taken](host)
			}
			synctest.Wait() // they wait in this order
		}
		agents[0].c.abort() // its connection is lost: its read ends, and the next read gets its room
		for range 2 {
			switch f := host.next().(type) {
			case *wire.Cancel:
				if f.CallID != calls[0] {
					t.Errorf("%+v", f)
				}
				host.send(&wire.ToolResult{CallID: calls[0], Error: string(tool.Cancelled)})
			case *wire.Taken:
				if f.CallID != calls[1] {
					t.Errorf("%+v", f)
				}
			}
		}
		if r := want[*wire.ToolResult](agents[2]); r.Error != string(tool.RateLimited) {
			cancel := want[*wire.Cancel](host)
			t.Errorf("%+v %+v", r, cancel)
		}
		host.send(&wire.Part{CallID: calls[1], Seq: 1, Last: true})
		host.result(calls[1], `{"success":true}`)
		want[*wire.Part](agents[1])
		want[*wire.ToolResult](agents[1])
		synctest.Wait()
		if !free(h) {
			t.Error("room is not given back")
		}
	})
}

// An ended call does not hold its arguments, whether it was sent or not.
func TestEndedCallHoldsNothing(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		done := make(chan struct{})
		c := &call{
			h: h, to: "nowhere", f: wire.ToolCall{CallID: "s/1", ToolName: "write_file", Arguments: write(t, "a", "x"), Session: "s"},
			done: func(*wire.ToolResult, func()) { close(done) },
		}
		h.start(c)
		<-done
		if c.f.Arguments != nil {
			t.Errorf("%s", c.f.Arguments)
		}
	})
}

// A call without room is refused after a while, and a later call is accepted.
func TestCallsAreBounded(t *testing.T) {
	bubble(t, Config{Memory: limits.NewBudget(limits.Process, 1<<20)}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h)
		other, err := limits.TryAcquire(1<<20, h.config.Memory)
		if err != nil {
			t.Fatal(err)
		}
		agent := join(t, h, "agent-a")
		agent.hello(wire.Hello{Role: wire.Agent})
		write := func(id string) {
			agent.send(&wire.ToolCall{CallID: id, ToolName: "write_file", Arguments: write(t, "a", strings.Repeat("x", 100<<10))})
		}
		write("1")
		if r := want[*wire.ToolResult](agent); r.Error != string(tool.RateLimited) {
			t.Errorf("%+v", r)
		}
		other()
		write("2")
		host.result(want[*wire.ToolCall](host).CallID, `{"success":true}`)
		if r := want[*wire.ToolResult](agent); r.Error != "" || !free(h) {
			t.Errorf("%+v", r)
		}
	})
}

// Content has at most 100 MB by default, in both directions. (FILE-9)
func TestContentLimit(t *testing.T) {
	const limit = 100 << 20
	bubble(t, Config{Limits: Limits{Rate: -1}}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanParts, wire.CanCancel)
		agent := join(t, h, "agent-a")
		if said := agent.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanParts}}); said.Limits.ContentBytes != limit {
			t.Errorf("the limit is %d", said.Limits.ContentBytes)
		}
		data := []byte(strings.Repeat("x", wire.PartBytes))
		// pass sends parts until there are 100 MB, and one byte more.
		pass := func(from, to *raw, there, here string) {
			for seq := range limit / wire.PartBytes {
				from.send(&wire.Part{CallID: there, Seq: seq, Data: data})
				if p := want[*wire.Part](to); p.Seq != seq {
					t.Fatalf("part %d, want %d", p.Seq, seq)
				}
				to.send(&wire.Taken{CallID: here, Seq: seq})
				want[*wire.Taken](from)
			}
			from.send(&wire.Part{CallID: there, Seq: limit / wire.PartBytes, Data: []byte("y"), Last: true})
		}
		end := func(call string) {
			want[*wire.Cancel](host)
			host.send(&wire.ToolResult{CallID: call, Error: string(tool.Cancelled)})
			if r := want[*wire.ToolResult](agent); r.Error != string(tool.FileTooLarge) {
				t.Errorf("%+v", r)
			}
		}
		agent.send(&wire.ToolCall{CallID: "up", ToolName: "write_file", Arguments: json.RawMessage(`{}`), PartsFollow: true})
		call := want[*wire.ToolCall](host).CallID
		pass(agent, host, "up", call)
		end(call)
		agent.read("down")
		call = want[*wire.ToolCall](host).CallID
		pass(host, agent, call, "down")
		end(call)
	})
}
