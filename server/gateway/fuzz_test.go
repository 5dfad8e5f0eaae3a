package gateway

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// script makes frames from the bytes of a fuzz input, two bytes for each.
type script struct{ bytes []byte }

func (s *script) next() (kind, detail byte, ok bool) {
	if len(s.bytes) < 2 {
		return 0, 0, false
	}
	kind, detail = s.bytes[0], s.bytes[1]
	s.bytes = s.bytes[2:]
	return kind, detail, true
}

// scripted returns a frame that an agent or a host may send, or other bytes. Calls have one of four ids.
func scripted(kind, detail byte, prefix string) (frame []byte, isCall bool) {
	id := prefix + fmt.Sprint(detail%4)
	part := &wire.Part{CallID: id, Seq: int(detail >> 4), Data: make([]byte, 1+int(detail)*64), Last: detail&8 != 0}
	frames := []wire.Frame{
		&wire.ToolCall{CallID: id, ToolName: "write_file", Arguments: json.RawMessage(`{}`), PartsFollow: detail&4 != 0, TimeoutSeconds: int(detail >> 5)},
		part, part, part,
		&wire.Taken{CallID: id, Seq: int(detail >> 4)},
		&wire.Cancel{CallID: id},
		&wire.ToolResult{CallID: id, Result: json.RawMessage(`{"success":true}`)},
		&wire.ToolResult{CallID: id, Error: "cancelled", NeedsConfirmation: detail&4 != 0},
		&wire.ToolResult{CallID: id, NeedsConfirmation: true},
		&wire.Progress{CallID: id, State: wire.Working},
		&wire.Error{Code: wire.Malformed, CallID: id},
		&wire.Approval{ID: id, CallID: id, Withdrawn: detail&4 != 0},
		&wire.Event{Event: wire.Draining},
		&wire.Ack{Received: uint64(detail)},
		&wire.Hello{Version: wire.Version},
	}
	if int(kind) >= len(frames) {
		return []byte{kind, '{', detail}, false
	}
	f := frames[kind]
	b, err := wire.Encode(f)
	if err != nil {
		panic(err)
	}
	_, isCall = f.(*wire.ToolCall)
	return b.Bytes(), isCall
}

// FuzzSession checks that every call of an agent gets exactly one result within its time limit, for any frames of the agent and the
// host, unless the agent is disconnected. (FILE-3, FILE-4, FILE-9)
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 0, 128 + 6, 0})
	f.Add([]byte{0, 4, 1, 0, 1, 16 + 8, 128 + 4, 0, 128 + 4, 16, 128 + 6, 0})
	f.Add([]byte{0, 1, 128 + 1, 1, 4, 1, 128 + 2, 17 + 8, 128 + 6, 1})
	f.Add([]byte{0, 6, 1, 2, 1, 18, 1, 34, 1, 50, 1, 66, 5, 2, 128 + 7, 2})
	f.Add([]byte{0, 3, 128 + 8, 3, 5, 3, 0, 3, 13, 9, 100, 100})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			h, _ := newHub(t, Config{Limits: Limits{Rate: -1, Content: 30_000}})
			defer h.Close()
			host := rawHost(t, h, wire.CanCancel, wire.CanParts, wire.CanProgress)
			agent := join(t, h, "agent-a")
			agent.hello(wire.Hello{Role: wire.Agent, Session: "s", Capabilities: []string{wire.CanParts, wire.CanProgress}})
			results := 0
			var over atomic.Bool // the agent's connection has ended
			var reading sync.WaitGroup
			reading.Go(func() { collect(t, host, func(wire.Frame) {}) })
			reading.Go(func() {
				collect(t, agent, func(f wire.Frame) {
					if r, ok := f.(*wire.ToolResult); ok && !awaits(r) {
						results++
					}
				})
				over.Store(true)
			})
			calls := 0
			for s := (script{data}); ; {
				kind, detail, ok := s.next()
				if !ok {
					break
				}
				if kind >= 128 {
					b, _ := scripted(kind-128, detail, "gateway-agent-a-s/")
					_ = host.c.write(wire.Encoded{Head: b}) // the host may be disconnected
					continue
				}
				b, isCall := scripted(kind, detail, "")
				if agent.c.write(wire.Encoded{Head: b}) == nil && isCall {
					calls++
				}
				if detail%16 == 0 {
					synctest.Wait()
				}
			}
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			cutOff := over.Load() // for instance because of an ack of frames that were not sent
			agent.c.close(1000, "bye")
			host.c.close(1000, "bye")
			reading.Wait()
			if results > calls || results < calls && !cutOff {
				t.Errorf("%d results of %d calls", results, calls)
			}
		})
	})
}

// collect passes received frames to a function until the connection ends.
func collect(t testing.TB, r *raw, to func(wire.Frame)) {
	for {
		b, err := r.c.read()
		if err != nil {
			return
		}
		f, err := wire.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		to(f)
	}
}
