package gateway

import (
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
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

// issue is one token of an ID: a client whose certificate was renewed has another one,
// with the same ID.
type issue struct {
	id      string
	created int64 // in nanoseconds since 1970
}

// valid reports whether a token has not expired, also by a clock that cannot be
// set: setting the calendar back makes no token last longer than it was to last when
// it was first seen.
func (h *Hub) valid(who Identity, now time.Time) bool {
	if who.Expires.IsZero() {
		return true
	}
	end := now.Add(who.Expires.Sub(now)) // compares by the clock that is not set
	of := issue{who.ID, who.Created.UnixNano()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.expiries[of]; ok && known.Before(end) {
		end = known
	}
	h.expiries[of] = end
	return now.Before(end)
}
