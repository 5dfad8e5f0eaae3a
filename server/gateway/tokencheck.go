package gateway

import (
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// checkEvery is the time between two checks of the tokens.
const checkEvery = 2 * time.Second

var errToken = errors.New("the token has expired or was revoked")

// checkTokens ends the sessions whose token is no longer valid.
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

// issue identifies one token of an ID. A client with a renewed certificate has another token with the same ID.
type issue struct {
	id      string
	created int64 // in nanoseconds since 1970
}

// valid reports whether a token has not expired. It also checks the monotonic clock: setting the calendar back does not extend the
// life of a token.
func (h *Hub) valid(who Identity, now time.Time) bool {
	if who.Expires.IsZero() {
		return true
	}
	end := now.Add(who.Expires.Sub(now)) // Add keeps the monotonic clock for the comparison
	of := issue{who.ID, who.Created.UnixNano()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.expiries[of]; ok && known.Before(end) {
		end = known
	}
	h.expiries[of] = end
	return now.Before(end)
}
