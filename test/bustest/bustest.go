// Package bustest has the test suite for implementations of gateway.Bus.
package bustest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// patience is the time limit for the arrival of a message.
const patience = 10 * time.Second

// Run runs the suite. open returns two connected Buses for this test, as two processes have them. They may be the same Bus.
func Run(t *testing.T, open func(t *testing.T) (a, b gateway.Bus)) {
	t.Run("Owner", func(t *testing.T) { owner(t, open) })
	t.Run("Order", func(t *testing.T) { order(t, open) })
	t.Run("Topic", func(t *testing.T) { topic(t, open) })
}

func message(id string) gateway.Message {
	return gateway.Message{From: "hub/x", Frame: &wire.Cancel{CallID: id}}
}

func owner(t *testing.T, open func(t *testing.T) (a, b gateway.Bus)) {
	a, b := open(t)
	if err := b.Send("workspace/w", message("1")); !errors.Is(err, gateway.ErrNoOwner) {
		t.Errorf("sent to an address without an owner: %v", err)
	}
	got := make(chan gateway.Message, 10)
	stop, err := a.Own("workspace/w", func(m gateway.Message) { got <- m }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Own("workspace/w", func(gateway.Message) {}, nil); !errors.Is(err, gateway.ErrTaken) {
		t.Errorf("owned twice: %v", err)
	}
	if err := b.Send("workspace/w", message("2")); err != nil {
		t.Fatal(err)
	}
	m := next(t, got)
	if c, ok := m.Frame.(*wire.Cancel); !ok || c.CallID != "2" || m.From != "hub/x" {
		t.Errorf("%+v", m)
	}
	stop()
	if err := b.Send("workspace/w", message("3")); !errors.Is(err, gateway.ErrNoOwner) {
		t.Errorf("sent to an address whose owner has stopped: %v", err)
	}
	stop2, err := b.Own("workspace/w", func(gateway.Message) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop() // a second call of stop must not remove the new owner
	if err := a.Send("workspace/w", message("4")); err != nil {
		t.Error(err)
	}
	stop2()
}

func order(t *testing.T, open func(t *testing.T) (a, b gateway.Bus)) {
	a, b := open(t)
	const senders, each = 4, 200
	type from struct{ sender, n string }
	got := make(chan from, senders*each)
	stop, err := a.Own("hub/y", func(m gateway.Message) { got <- from{m.From, m.Frame.(*wire.Cancel).CallID} }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for n := range each {
				m := message(strconv.Itoa(n))
				m.From = strconv.Itoa(i)
				if err := b.Send("hub/y", m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for range senders * each {
		f := next(t, got)
		if f.n != strconv.Itoa(seen[f.sender]) {
			t.Fatalf("from %s: %s after %d others", f.sender, f.n, seen[f.sender])
		}
		seen[f.sender]++
	}
}

func topic(t *testing.T, open func(t *testing.T) (a, b gateway.Bus)) {
	a, b := open(t)
	here, there := make(chan gateway.Message, 10), make(chan gateway.Message, 10)
	stop, err := a.Subscribe("workspaces", func(m gateway.Message) { here <- m })
	if err != nil {
		t.Fatal(err)
	}
	stopThere, err := b.Subscribe("workspaces", func(m gateway.Message) { there <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer stopThere()
	if err := a.Publish("workspaces", message("1")); err != nil {
		t.Fatal(err)
	}
	next(t, here)
	next(t, there)
	stop()
	if err := b.Publish("workspaces", message("2")); err != nil {
		t.Fatal(err)
	}
	next(t, there)
	select {
	case m := <-here:
		t.Errorf("after the end of the subscription: %+v", m)
	default:
	}
}

func next[T any](t *testing.T, from chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("not reached")
	}
}
