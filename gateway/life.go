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

// checkEvery is the time between two checks of whether tokens are still good.
const checkEvery = 2 * time.Second

var errToken = errors.New("the token has expired or was revoked")

// checkTokens ends the sessions whose token is no longer good.
func (h *Hub) checkTokens() {
	every := time.NewTicker(checkEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-h.base.Done():
			return
		}
		for _, s := range h.allSessions() {
			if s.who.ID != "" && (!h.config.Authority.Holds(s.who) || !h.valid(s.who, time.Now())) {
				h.log.Warn("cut off", "why", "token expired or revoked", "token", s.who.ID, "session", s.id)
				h.recordCutOff(s.who, s.hello, errToken)
				s.end(websocket.StatusPolicyViolation, wire.Forbidden+": "+errToken.Error())
			}
		}
	}
}

// valid reports whether a token has not expired, also by a clock that cannot be
// set: setting the calendar back makes no token last longer than it was to last when
// it was first seen.
func (h *Hub) valid(who Identity, now time.Time) bool {
	if who.Expires.IsZero() {
		return true
	}
	end := now.Add(who.Expires.Sub(now)) // compares by the clock that is not set
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.expiries[who.ID]; ok && known.Before(end) {
		end = known
	}
	h.expiries[who.ID] = end
	return now.Before(end)
}

func (h *Hub) allSessions() []*hubSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.sessions))
}

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

// Join runs a host in this process, until ctx ends. It has no token.
func (h *Hub) Join(ctx context.Context, host *Host) error {
	return host.run(ctx, func(context.Context) (connection, error) {
		here, there := newPipe()
		if !h.enterConnection() {
			return nil, errClosed
		}
		h.serving.Go(func() {
			defer h.leaveConnection()
			who := Identity{Name: "this process", Scopes: []string{wire.Host}}
			_ = h.serve(h.base, there, who) // the host is told the reason, too
			there.close(websocket.StatusGoingAway, "closed")
		})
		return here, nil
	})
}

// enterConnection counts a connection in, if there may be another one.
func (h *Hub) enterConnection() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining || h.connections >= h.config.Limits.Connections {
		return false
	}
	h.connections++
	h.serving.Add(1)
	return true
}

func (h *Hub) leaveConnection() {
	h.mu.Lock()
	h.connections--
	h.mu.Unlock()
	h.serving.Done()
}
