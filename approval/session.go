package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// session is what a client session has used up and been given.
type session struct {
	name  string
	ready chan struct{} // closed when suspended is known
	err   error         // why it is not; read after ready
	calls int           // under way; guarded by Handler.mu
	last  time.Time     // of the newest call; guarded by Handler.mu

	mu        sync.Mutex
	limiter   *rate.Limiter
	refused   int // calls over the limit since the last one that was not
	grants    []policy.Rule
	attempts  policy.Attempts
	suspended bool
	writing   int           // writes that are being applied
	quiet     chan struct{} // closed when there are none; nil where nobody waits for it
}

// Sessions that have been idle for so long are forgotten once there are many.
const (
	manySessions = 4096
	idle         = time.Hour
	maxGrants    = 1000
)

// enter returns the session of that name, and counts a call in.
func (h *Handler) enter(ctx context.Context, name string) (*session, error) {
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
			h.leave(s)
			return nil, ctx.Err()
		}
	}
	if s.err != nil {
		h.leave(s)
		return nil, fmt.Errorf("audit trail: %w", s.err)
	}
	return s, nil
}

func (h *Handler) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.calls--
}

// forget drops sessions that nobody uses. What they were granted is lost, which
// is safe; that they were suspended is in the trail.
func (h *Handler) forget(now time.Time) {
	for name, s := range h.sessions {
		if s.calls == 0 && now.Sub(s.last) >= idle {
			delete(h.sessions, name)
		}
	}
}

// wasSuspended asks the trail. Calls without a session are not told apart in it.
func (h *Handler) wasSuspended(ctx context.Context, name string) (bool, error) {
	trail := h.journal().Trail
	if trail == nil || name == "" {
		return false, nil
	}
	last, err := trail.Entries(ctx, record.TrailQuery{
		Session: name, Kinds: []record.Kind{record.Suspend, record.Resume}, Limit: 1, Last: true,
	})
	return len(last) > 0 && last[0].Kind == record.Suspend, err
}

// End forgets a client session that is over: its grants, above all. It stays
// suspended if it was.
func (h *Handler) End(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, name)
}

// Resume lets a suspended session go on, whichever process has it, if they share
// the trail. by is who says so.
func (h *Handler) Resume(ctx context.Context, name, by string) error {
	_, err := h.journal().Now(ctx, record.Entry{
		Kind: record.Resume, Root: h.Root, Session: name, Decision: "approved", By: "person " + by, Outcome: record.OK,
	})
	if err != nil {
		return fmt.Errorf("resume %s: audit trail: %w", name, err)
	}
	h.setSuspended(name, false)
	return nil
}

func (h *Handler) setSuspended(name string, suspended bool) {
	h.mu.Lock()
	s, ok := h.sessions[name]
	h.mu.Unlock()
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = suspended
}

// isSuspended asks the trail too whether the session still is: another process
// may have resumed it.
func (h *Handler) isSuspended(ctx context.Context, s *session) bool {
	s.mu.Lock()
	suspended := s.suspended
	s.mu.Unlock()
	if !suspended || s.name == "" || h.journal().Trail == nil {
		return suspended
	}
	if still, err := h.wasSuspended(ctx, s.name); err != nil || still {
		return true
	}
	h.setSuspended(s.name, false)
	return false
}

// beginWrite counts a write in, unless the session is suspended.
func (s *session) beginWrite() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.suspended {
		s.writing++
	}
	return !s.suspended
}

func (s *session) endWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing--; s.writing == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// suspend suspends the session and waits for the writes that are under way.
func (h *Handler) suspend(ctx context.Context, s *session) error {
	s.mu.Lock()
	s.suspended = true
	quiet := s.quiet
	if s.writing > 0 && quiet == nil {
		quiet = make(chan struct{})
		s.quiet = quiet
	}
	s.mu.Unlock()
	if quiet == nil {
		return nil
	}
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admit counts a call against the limit, and returns how long to wait where it
// is over it. Otherwise r is told how many were before it.
func (s *session) admit(perMinute int, now time.Time, r *run) time.Duration {
	if perMinute < 0 {
		return 0
	}
	if perMinute == 0 {
		perMinute = 100
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limiter == nil {
		s.limiter = rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
	}
	place := s.limiter.ReserveN(now, 1)
	if wait := place.DelayFrom(now); wait > 0 {
		place.CancelAt(now)
		return wait
	}
	if s.refused > 1 {
		r.flags = append(r.flags, fmt.Sprintf("after %d over the rate limit", s.refused))
	}
	s.refused = 0
	return 0
}

// firstRefused counts a call over the limit, and reports whether it is the
// first of its run.
func (s *session) firstRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	return s.refused == 1
}

func (s *session) granted() []policy.Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants)
}

func (s *session) grant(rule policy.Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.grants) < maxGrants {
		s.grants = append(s.grants, rule)
	}
}

func (s *session) count(p policy.Suspicion, code tool.Code, now time.Time) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts.Count(p, code, now)
}
