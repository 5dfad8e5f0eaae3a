package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/policy"
)

// session counts the calls of a client session, and has its grants and its suspension.
type session struct {
	name  string
	ready chan struct{} // closed when it is known whether the session is suspended
	err   error         // why it is not known; read after ready
	calls int           // running calls; guarded by Handler.mu
	last  time.Time     // time of the newest call; guarded by Handler.mu

	mu        sync.Mutex
	grants    []policy.Rule
	attempts  policy.Attempts
	suspended *suspension   // nil: not suspended
	writing   int           // writes that are being applied
	quiet     chan struct{} // closed when writing becomes 0; nil: no call waits for that
}

// If there are many sessions, a session that was idle for this long is forgotten.
const (
	manySessions = 4096
	idle         = time.Hour
	maxGrants    = 1000
)

// openSession returns the session of that name, and counts a new running call.
func (h *Handler) openSession(ctx context.Context, name string) (*session, error) {
	now := time.Now()
	h.mu.Lock()
	if h.sessions == nil {
		h.sessions = map[string]*session{}
	}
	s, ok := h.sessions[name]
	if !ok {
		if len(h.sessions) >= manySessions {
			h.forget(now)
		}
		s = &session{name: name, ready: make(chan struct{})}
		h.sessions[name] = s
	}
	s.calls++
	s.last = now
	h.mu.Unlock()
	if !ok {
		var on *suspension
		on, s.err = h.wasSuspended(ctx, name)
		s.mu.Lock() // End may read suspended meanwhile
		s.suspended = on
		s.mu.Unlock()
		if s.err != nil {
			h.mu.Lock()
			delete(h.sessions, name) // the next call asks the trail again
			h.mu.Unlock()
		}
		close(s.ready)
	}
	select {
	case <-s.ready:
	default:
		select {
		case <-s.ready:
		case <-ctx.Done():
			h.closeSession(s)
			return nil, ctx.Err()
		}
	}
	if s.err != nil {
		h.closeSession(s)
		return nil, fmt.Errorf("audit trail: %w", s.err)
	}
	return s, nil
}

// closeSession counts the end of a call.
func (h *Handler) closeSession(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.calls--
}

// forget drops unused sessions. Losing their grants is safe. Their suspensions are in the trail.
func (h *Handler) forget(now time.Time) {
	for name, s := range h.sessions {
		if s.calls == 0 && now.Sub(s.last) >= idle && s.forgettable() {
			delete(h.sessions, name)
		}
	}
}

// End forgets a client session that is over, with its grants. A suspended session stays suspended.
func (h *Handler) End(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.sessions[name]
	switch {
	case !ok:
	case s.forgettable():
		delete(h.sessions, name)
	default:
		s.ungrant()
	}
}

func (s *session) granted() []policy.Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants)
}

// grant stores a person's grant. A grant that answers several questions is stored once.
func (s *session) grant(rule policy.Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	equal := func(a, b policy.Pattern) bool { return a.String() == b.String() }
	same := func(has policy.Rule) bool {
		return has.On == rule.On && slices.EqualFunc(has.Paths, rule.Paths, equal) && slices.EqualFunc(has.Tools, rule.Tools, equal)
	}
	if len(s.grants) < maxGrants && !slices.ContainsFunc(s.grants, same) {
		s.grants = append(s.grants, rule)
	}
}

func (s *session) ungrant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = nil
}
