package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/tool"
)

// When a hub drains and closes, its host moves to another hub, and no call made at the other hub fails. (FILE-4)
func TestDrainSendsHostAway(t *testing.T) {
	bus := new(Local)
	from, _ := newHub(t, Config{Limits: Limits{Rate: -1}, Bus: bus})
	to, _ := newHub(t, Config{Limits: Limits{Rate: -1}, Bus: bus})
	there, next := serveHub(t, from), serveHub(t, to)
	var gateway atomic.Pointer[string]
	gateway.Store(&there)
	ctx, cancel := context.WithCancel(t.Context())
	host := &Host{Workspace: "w", Caller: echo("{}")}
	ended := make(chan error, 1)
	go func() {
		ended <- host.run(ctx, func(ctx context.Context) (connection, error) {
			return Dial{URL: *gateway.Load(), Token: "host-a"}.dial(ctx)
		})
	}()
	agent := dialAgent(t, next, "w")
	mustCall(t, agent, "read_file", "{}")
	drained := make(chan error, 1)
	gateway.Store(&next)
	go func() { drained <- errors.Join(from.Drain(t.Context()), from.Close()) }()
	for over, calls := false, 0; !over || calls < 10; {
		r, err := agent.Call(t.Context(), tool.Call{Name: "read_file", Arguments: []byte("{}")})
		if err != nil || r.Failed() {
			t.Fatalf("%+v, %v", r, err)
		}
		if over {
			calls++
			continue
		}
		select {
		case err := <-drained:
			if over = true; err != nil {
				t.Error(err)
			}
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
