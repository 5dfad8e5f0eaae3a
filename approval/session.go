package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/ratelimit"
	"github.com/stet-dev/stet/policy"
)

// session is what a client session has used up and been given.
type session struct {
	name  string
	ready chan struct{} // closed when it is known whether it is suspended
	err   error         // why it is not; read after ready
	calls int           // under way; guarded by Handler.mu
	last  time.Time     // of the newest call; guarded by Handler.mu

	limiter *ratelimit.Limiter

	mu        sync.Mutex
	grants    []policy.Rule
	attempts  policy.Attempts
	suspended *suspension   // nil: it is not
	writing   int           // writes that are being applied
	quiet     chan struct{} // closed when there are none; nil where no call waits for it
}

// Sessions that have been idle for so long are forgotten once there are many.
const (
	manySessions = 4096
	idle         = time.Hour
	maxGrants    = 1000
)

// openSession returns the session of that name, and counts a call in.
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
		s = &session{name: name, ready: make(chan struct{}), limiter: ratelimit.New(h.perMinute())}
		h.sessions[name] = s
	}
	s.calls++
	s.last = now
	h.mu.Unlock()
	if !ok {
		s.suspended, s.err = h.wasSuspended(ctx, name)
		if s.err != nil {
			h.mu.Lock()
			delete(h.sessions, name) // the next call asks again
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

// closeSession counts a call out.
func (h *Handler) closeSession(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.calls--
}

// forget drops sessions that are not in use. What they were granted is lost, which
// is safe; that they were suspended is in the trail.
func (h *Handler) forget(now time.Time) {
	for name, s := range h.sessions {
		if s.calls == 0 && now.Sub(s.last) >= idle && s.forgettable() {
			delete(h.sessions, name)
		}
	}
}

// End forgets a client session that is over: its grants, above all. It stays
// suspended if it was.
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

// grant notes what a person has allowed for longer; once, if they did so in
// answer to several questions.
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
