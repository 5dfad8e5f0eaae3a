package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Times for a hub that starts or ends while other hubs run.
const (
	settleTime = time.Second / 2 // a new hub receives the news of other hubs' hosts in this time
	noticeTime = time.Second     // Ready reports the shutdown this long before calls are refused, so that senders can choose another hub
	leaveTime  = 3 * time.Second // the limit for other hubs' calls at a host that is to move
)

// Drain accepts no more calls and connections, tells all clients, and waits until the running calls have ended or ctx ends. Then
// its hosts move to other hubs, if there are any.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	notice := h.shared && !h.ending
	h.ending = true
	h.mu.Unlock()
	if notice {
		select {
		case <-time.After(noticeTime):
		case <-ctx.Done():
		}
	}
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
	if h.shared {
		h.sendAway(ctx)
	}
	for _, s := range h.allSessions() {
		if !s.drained(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// sendAway tells the hosts that are connected here to move to other hubs.
func (h *Hub) sendAway(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	h.mu.Lock()
	hosts := slices.Collect(maps.Values(h.hosts))
	h.mu.Unlock()
	var leaving sync.WaitGroup
	for _, p := range hosts {
		leaving.Go(func() { p.leave(ctx) })
	}
	leaving.Wait()
}

// Ready returns why calls are not accepted now, or nil.
func (h *Hub) Ready() error {
	h.mu.Lock()
	ending := h.ending || h.draining || h.closed
	h.mu.Unlock()
	if ending {
		return errors.New("ending: no more calls are taken")
	}
	if h.shared && time.Since(h.born) < settleTime {
		return errors.New("beginning: the other gateways are asked for their hosts")
	}
	if err := h.bus.Publish("ready/"+h.address, Message{}); err != nil { // the topic has no subscribers
		return fmt.Errorf("the bus: %w", err)
	}
	return nil
}

// closeTime is how long clients have to answer when the hub closes their connections.
const closeTime = time.Second

// Close ends every call and every connection, and waits for them. It may be called more than once.
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
