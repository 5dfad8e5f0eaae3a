package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// looking is the time between two looks at whether tokens are still good.
const looking = 2 * time.Second

var errToken = errors.New("the token has expired or was revoked")

// look cuts those off whose token holds no longer.
func (h *Hub) look() {
	every := time.NewTicker(looking)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-h.base.Done():
			return
		}
		for _, p := range h.everybody() {
			if p.who.ID != "" && (!h.config.Authority.Holds(p.who) || !h.lives(p.who, time.Now())) {
				h.log.Warn("cut off", "why", "token expired or revoked", "token", p.who.ID, "session", p.id)
				h.cutOff(p.who, p.hello, errToken)
				p.end(websocket.StatusPolicyViolation, wire.Forbidden+": "+errToken.Error(), true)
			}
		}
	}
}

// lives reports whether a token's time is not over, by a clock that nobody sets
// too: one that was set back makes no token last longer than it was to last when
// it was first seen.
func (h *Hub) lives(who Identity, now time.Time) bool {
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

func (h *Hub) everybody() []*peer {
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
		for _, p := range h.everybody() {
			if p.can(wire.CanEvents) {
				if err := p.link.send(&wire.Event{Event: wire.Draining, Message: "the gateway is shutting down"}); err != nil {
					h.log.Debug("not sent", "session", p.id, "err", err)
				}
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
	for _, p := range h.everybody() {
		if !p.drained(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// drained waits until what is on its way to the other side has been written.
func (p *peer) drained(ctx context.Context) bool {
	for !p.link.out.empty() {
		p.mu.Lock()
		away := p.conn == nil
		p.mu.Unlock()
		if away {
			return true
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

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
	for _, p := range h.everybody() {
		p.end(websocket.StatusGoingAway, "the gateway is shutting down", true)
	}
	h.stop()
	h.serving.Wait()
	if first {
		for _, stop := range h.stops {
			stop()
		}
	}
	return nil
}

// Join runs a host in this process, until ctx ends. It is on nobody's token.
func (h *Hub) Join(ctx context.Context, host *Host) error {
	return host.run(ctx, func(context.Context) (conn, error) {
		here, there := pipe()
		if !h.enterConnection() {
			return nil, ErrClosed
		}
		h.serving.Go(func() {
			defer h.leaveConnection()
			who := Identity{Name: "this process", Scopes: []string{wire.Host}}
			_ = h.serve(h.base, there, who) // the host hears of it, too
			there.close(websocket.StatusGoingAway, "closed")
		})
		return here, nil
	})
}

// enterConnection counts a connection in, if there may be another one.
func (h *Hub) enterConnection() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining || h.open >= h.config.Limits.Connections {
		return false
	}
	h.open++
	h.serving.Add(1)
	return true
}

func (h *Hub) leaveConnection() {
	h.mu.Lock()
	h.open--
	h.mu.Unlock()
	h.serving.Done()
}
