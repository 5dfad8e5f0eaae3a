package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Drain takes no more calls and connections, tells all who are connected, and
// waits until the calls under way have ended, or ctx.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	first := !h.draining
	h.draining = true
	var idle chan struct{}
	if len(h.calls) > 0 {
		if h.idle == nil {
			h.idle = make(chan struct{})
		}
		idle = h.idle
	}
	h.mu.Unlock()
	if first {
		for _, s := range h.allSessions() {
			if s.can(wire.CanEvents) {
				s.tell(&wire.Event{Event: wire.Draining, Message: "the gateway is shutting down"})
			}
		}
	}
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, s := range h.allSessions() {
		if !s.drained(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// Ready says why calls are not taken now; nil: they are.
func (h *Hub) Ready() error {
	h.mu.Lock()
	ending := h.draining || h.closed
	h.mu.Unlock()
	if ending {
		return errors.New("ending: no more calls are taken")
	}
	if err := h.bus.Publish("ready/"+h.address, Message{}); err != nil { // which has no subscribers
		return fmt.Errorf("the bus: %w", err)
	}
	return nil
}

// closeTime is how long clients have to answer when the hub closes their connections.
const closeTime = time.Second

// Close ends every call and every connection, and waits for them. It may be
// called more than once.
func (h *Hub) Close() error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	calls := slices.Collect(maps.Values(h.calls))
	h.mu.Unlock()
	for _, c := range calls {
		c.fail(tool.HostUnavailable, "The gateway is shutting down."+c.unknown())
	}
	for _, s := range h.allSessions() {
		s.end(websocket.StatusGoingAway, "the gateway is shutting down")
	}
	told := make(chan struct{})
	go func() {
		h.closing.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(closeTime):
	}
	h.stop()
	<-told
	h.serving.Wait()
	if first {
		for _, stop := range h.stops {
			stop()
		}
	}
	return nil
}
