package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/llm"
)

// Session is a handle for a stored session. Its methods may be called concurrently; calls of Append wait for each other.
type Session struct {
	id    string
	store Store
	turn  *semaphore.Weighted // held while events are added

	mu   sync.Mutex
	fold Fold
}

func handle(store Store, id string) *Session {
	s := &Session{id: id, store: store, turn: semaphore.NewWeighted(1)}
	s.fold.state.ID = id
	return s
}

// newID returns an ID. IDs sort by the time of their creation.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// Create begins a session. more are its first events after the opening.
func Create(ctx context.Context, store Store, opening Opening, more ...Body) (*Session, error) {
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	s := handle(store, id)
	if err := s.append(ctx, stamped(slices.Concat([]Body{opening}, more))); err != nil {
		return nil, err
	}
	return s, nil
}

// Resume opens a stored session. Damaged events are skipped and listed in the State. They never prevent a resume.
func Resume(ctx context.Context, store Store, id string) (*Session, error) {
	s := handle(store, id)
	if err := s.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	return s, nil
}

// ID returns the session's name in the store.
func (s *Session) ID() string { return s.id }

// State returns the state of the session after the events that this handle has read.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold.State()
}

// Append adds events. They are durable when it returns nil. ErrStale means that another handle, in this or another process, was faster.
// Then call Refresh, check the state, and append again. ErrCompacted means that another session continues this one.
func (s *Session) Append(ctx context.Context, bodies ...Body) error {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	if next := s.State().Next; next != "" && !slices.ContainsFunc(bodies, reopens) {
		return fmt.Errorf("append to session %s: %w; session %s goes on", s.id, ErrCompacted, next)
	}
	return s.append(ctx, stamped(bodies))
}

// reopens reports whether a body may be added to a closed session.
func reopens(b Body) bool {
	switch b.(type) {
	case Rewind, Title:
		return true
	}
	return false
}

// Rewind sets the state to the state after event number to. Nothing is deleted, so a rewind can be rewound.
func (s *Session) Rewind(ctx context.Context, to uint64) error {
	return s.Append(ctx, Rewind{To: to})
}

// Refresh reads new events of other handles.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	found, damaged, err := s.store.Events(ctx, s.id, s.State().Last)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold.Miss(damaged...)
	s.fold.Add(found...)
	return nil
}

// Fork begins a new session with the state after event number at; 0 means the newest event.
func (s *Session) Fork(ctx context.Context, at uint64) (*Session, error) {
	s.mu.Lock()
	st := s.fold.State()
	if at == 0 {
		at = st.Last
	}
	taken := s.fold.InForce(at)
	s.mu.Unlock()
	if at > st.Last {
		return nil, fmt.Errorf("fork session %s at event %d: the last one is %d", s.id, at, st.Last)
	}
	opening := Opening{Dir: st.Dir, From: Link{s.id, at, Forked}}
	if st.Title != "" {
		taken = slices.Concat(stamped([]Body{Title(st.Title)}), taken)
	}
	opening.Carried = uint64(len(taken))
	all := slices.Concat(stamped([]Body{opening}), taken)
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", s.id, err)
	}
	fork := handle(s.store, id)
	if err := fork.append(ctx, all); err != nil {
		return nil, err
	}
	return fork, nil
}

// Compact closes the session and begins the session that continues it. taken are its first events: the summary, and files that were
// attached again. The new session has the same title. Without a title, the first prompt becomes the title, because all summaries
// begin with the same words. Both sessions are written together or not at all.
func (s *Session) Compact(ctx context.Context, taken ...Body) (*Session, error) {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.turn.Release(1)
	st := s.State()
	if st.Next != "" {
		return nil, fmt.Errorf("compact session %s: %w; session %s goes on", s.id, ErrCompacted, st.Next)
	}
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("compact session %s: %w", s.id, err)
	}
	if title := cmp.Or(st.Title, st.First); title != "" {
		taken = slices.Concat([]Body{Title(title)}, taken)
	}
	opening := Opening{Dir: st.Dir, From: Link{s.id, st.Last, Compacted}, Carried: uint64(len(taken))}
	next := handle(s.store, id)
	old := Batch{Session: s.id, After: st.Last, Events: stamped([]Body{Compaction{To: id}})}
	begun := Batch{Session: id, Events: stamped(slices.Concat([]Body{opening}, taken))}
	if err := s.store.Append(ctx, old, begun); err != nil {
		return nil, err
	}
	s.added(old)
	next.added(begun)
	return next, nil
}

// append adds events after the last known one. The caller holds turn, or is the only user of the handle.
func (s *Session) append(ctx context.Context, all []Event) error {
	b := Batch{Session: s.id, After: s.State().Last, Events: all}
	if err := s.store.Append(ctx, b); err != nil {
		return err
	}
	s.added(b)
	return nil
}

// added adds accepted events to the fold.
func (s *Session) added(b Batch) {
	now, err := b.Prepared(time.Time{})
	if err != nil {
		return // the store would have rejected the batch
	}
	for i := range now {
		now[i].Body = own(now[i].Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold.Add(now...)
}

// own returns a copy of a body, in the form in which a store returns it.
func own(b Body) Body {
	if f, ok := b.(File); ok {
		f.Time = f.Time.UTC().Round(0)
		return f
	}
	m, ok := b.(Message)
	if !ok {
		return b
	}
	m.Parts = append([]llm.Part(nil), m.Parts...)
	for i := range m.Parts {
		m.Parts[i].Span = llm.Span{}
	}
	if m.Usage != nil {
		u := *m.Usage
		m.Usage = &u
	}
	if !m.Time.IsZero() {
		m.Time = m.Time.UTC().Round(0) // a reading of the monotonic clock is not stored
	}
	return m
}

// stamped makes events of bodies, as of now.
func stamped(bodies []Body) []Event {
	now := time.Now()
	out := make([]Event, len(bodies))
	for i, b := range bodies {
		out[i] = Event{Time: now, Body: b}
	}
	return out
}
