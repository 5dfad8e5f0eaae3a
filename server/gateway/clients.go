package gateway

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// clients are the connections and sessions of a hub's clients, and how long their tokens hold.
type clients struct {
	most int // connections at once

	mu          sync.Mutex
	over        bool // no more are accepted
	connections int
	sessions    map[*hubSession]bool
	secrets     map[string]*hubSession // sessions that can be resumed
	expiries    map[issue]time.Time    // when tokens expire, by the monotonic clock
}

// enter counts a new connection, unless the limit is reached.
func (cs *clients) enter() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.over || cs.connections >= cs.most {
		return false
	}
	cs.connections++
	return true
}

func (cs *clients) leave() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.connections--
}

// refuse accepts no more connections and sessions. It reports whether it is called for the first time.
func (cs *clients) refuse() (first bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	first = !cs.over
	cs.over = true
	return first
}

// add adds a session. It reports false if no more are accepted.
func (cs *clients) add(s *hubSession) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.over {
		return false
	}
	cs.sessions[s] = true
	if s.secret != "" {
		cs.secrets[s.secret] = s
	}
	return true
}

func (cs *clients) remove(s *hubSession) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.sessions, s)
	delete(cs.secrets, s.secret)
}

// find returns the session that a secret resumes, or nil.
func (cs *clients) find(secret string) *hubSession {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.secrets[secret]
}

// all returns the sessions.
func (cs *clients) all() []*hubSession {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Keys(cs.sessions))
}

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
		for _, s := range h.clients.all() {
			if s.who.ID != "" && (!h.config.Authority.Holds(s.who) || !h.clients.valid(s.who, time.Now())) {
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
func (cs *clients) valid(who Identity, now time.Time) bool {
	if who.Expires.IsZero() {
		return true
	}
	end := now.Add(who.Expires.Sub(now)) // Add keeps the monotonic clock for the comparison
	of := issue{who.ID, who.Created.UnixNano()}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if known, ok := cs.expiries[of]; ok && known.Before(end) {
		end = known
	}
	cs.expiries[of] = end
	return now.Before(end)
}
