package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// suspension is the time in which all calls of a session are refused. It begins with the refused call that exceeded the limit,
// before the trail has its entry. It ends when a person resumes the session: by Handler.Resume, or in another process; then the
// trail has a Resume after the suspension's entry.
type suspension struct {
	mu       sync.Mutex
	entries  []record.Entry // the entries that record it, the Suspend last
	writing  bool           // a call is writing them now
	recorded uint64         // Seq of the Suspend; 0: not yet in the trail
}

// count counts a refused call. If it exceeds a limit, count returns the name of the limit, and suspends the session in the same
// step if policy says so. begun is then the new suspension.
func (s *session) count(p policy.Suspicion, code tool.Code, now time.Time) (what string, begun *suspension) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what, suspicious := s.attempts.Count(p, code, now)
	if !suspicious {
		return "", nil
	}
	if p.Do != policy.Flag && s.suspended == nil {
		begun = &suspension{}
		s.suspended = begun
	}
	return what, begun
}

// suspension returns the current suspension, or nil.
func (s *session) suspension() *suspension {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspended
}

// lift ends a suspension, unless a newer one has begun.
func (s *session) lift(ended *suspension) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended == ended {
		s.suspended = nil
	}
}

// forgettable reports whether the trail has all state that a later call of the session needs.
func (s *session) forgettable() bool {
	on := s.suspension()
	if on == nil {
		return true
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	return on.recorded > 0
}

// wasSuspended asks the trail whether a session is suspended. The trail cannot tell calls without a session apart, so they are
// never suspended by it.
func (h *Handler) wasSuspended(ctx context.Context, name string) (*suspension, error) {
	last, err := h.newest(ctx, name, record.Suspend, record.Resume)
	if err != nil || last.Kind != record.Suspend {
		return nil, err
	}
	return &suspension{recorded: last.Seq}, nil
}

// newest returns the session's newest entry of these kinds, or the zero Entry.
func (h *Handler) newest(ctx context.Context, name string, kinds ...record.Kind) (record.Entry, error) {
	if !h.remembers(name) {
		return record.Entry{}, nil
	}
	last, err := h.journal().Trail.Entries(ctx, record.TrailQuery{Session: name, Kinds: kinds, Limit: 1, Last: true})
	if err != nil || len(last) == 0 {
		return record.Entry{}, err
	}
	return last[0], nil
}

// remembers reports whether the trail can say that a session is suspended.
func (h *Handler) remembers(name string) bool { return name != "" && h.journal().Trail != nil }

// isSuspended reports whether the session is suspended. It asks the trail whether another process has resumed the session. A
// suspension that is not yet in the trail holds, and isSuspended tries to write it.
func (h *Handler) isSuspended(ctx context.Context, s *session) bool {
	on := s.suspension()
	if on == nil || !h.remembers(s.name) {
		return on != nil
	}
	at := h.recordSuspension(ctx, on)
	if at == 0 {
		return true
	}
	last, err := h.newest(ctx, s.name, record.Suspend, record.Resume)
	if err != nil || last.Kind != record.Resume || last.Seq < at {
		return true
	}
	s.lift(on)
	return s.suspension() != nil
}

// recordSuspension writes a suspension to the trail, if it is not there, and returns the Seq of its entry. 0: it could not be
// written, or another call is writing it.
func (h *Handler) recordSuspension(ctx context.Context, on *suspension) uint64 {
	on.mu.Lock()
	entries, at := on.entries, on.recorded
	mine := at == 0 && len(entries) > 0 && !on.writing
	if mine {
		on.writing = true
	}
	on.mu.Unlock()
	if !mine {
		return at
	}
	written, err := h.journal().Now(ctx, entries...)
	if err != nil {
		h.log().Error("audit trail", "kind", record.Suspend, "err", err)
	} else {
		at = written[len(written)-1].Seq
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	on.writing, on.recorded = false, at
	return at
}

// Resume resumes a suspended session in every process that shares the trail. by names the person.
func (h *Handler) Resume(ctx context.Context, name, by string) error {
	h.mu.Lock()
	s, here := h.sessions[name]
	h.mu.Unlock()
	var ended *suspension
	if here {
		ended = s.suspension()
	}
	_, err := h.journal().Now(ctx, record.Entry{
		Kind: record.Resume, Root: h.Root, Session: name, Decision: "approved", By: "person " + by, Outcome: record.OK,
	})
	if err != nil {
		return fmt.Errorf("resume %s: audit trail: %w", name, err)
	}
	if here {
		s.lift(ended) // not a suspension that began meanwhile
	}
	return nil
}

// beginWrite counts a write that begins. It returns false if the session is suspended; then the caller must not write.
func (s *session) beginWrite() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended == nil {
		s.writing++
	}
	return s.suspended == nil
}

func (s *session) endWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing--; s.writing == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// awaitWrites waits for the running writes.
func (s *session) awaitWrites(ctx context.Context) error {
	s.mu.Lock()
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

// alarm records that a session is suspicious, and acts as policy says. begun is the suspension that this call began, or nil.
func (h *Handler) alarm(s *session, c tool.Call, what string, begun *suspension) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := record.Entry{
		Kind: record.Alarm, Root: h.Root, Session: c.Session, Client: c.Client, CallID: c.ID, Tool: c.Name,
		Decision: h.Suspicion.Do.String(), By: "policy", Outcome: record.OK, Flags: []string{"suspicious", what},
	}
	write := func(e record.Entry) {
		if _, err := h.journal().Now(ctx, e); err != nil {
			h.log().Error("audit trail", "kind", e.Kind, "session", c.Session, "err", err)
		}
	}
	h.log().Warn("suspicious session", "session", c.Session, "client", c.Client, "what", what, "do", h.Suspicion.Do)
	if begun == nil {
		write(e)
		return
	}
	suspend := e
	suspend.Kind, suspend.Flags = record.Suspend, slices.Clone(e.Flags)
	begun.mu.Lock()
	begun.entries = []record.Entry{e, suspend}
	begun.mu.Unlock()
	h.recordSuspension(ctx, begun)
	err := s.awaitWrites(ctx)
	if h.Suspicion.Do != policy.RollBack || h.RollBack == nil {
		return
	}
	if err == nil {
		err = h.RollBack(ctx, c.Session)
	}
	e.Kind, e.Tool = record.Call, "roll back"
	if err != nil {
		h.log().Error("roll back", "session", c.Session, "err", err)
		e.Outcome = record.Broke
	}
	write(e)
}
