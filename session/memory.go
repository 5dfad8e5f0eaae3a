package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in memory. Its content is lost when the process ends. The zero value is empty and ready to use.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]*kept
	closed   bool
}

var _ Store = (*Memory)(nil)

// kept is a session in memory. Its events are encoded, so they share no memory with the values of callers.
type kept struct {
	info   Info
	events []encoded
}

type encoded struct {
	time    time.Time
	version int
	kind    Kind
	body    []byte
}

func encode(e Event) (encoded, error) {
	body, err := Encode(e.Body)
	return encoded{e.Time, e.Version, e.Kind(), body}, err
}

// event decodes a stored event. A body made by Encode can always be decoded.
func (k *kept) event(seq uint64) (Event, error) {
	e := k.events[seq-1]
	body, err := Decode(e.kind, e.version, e.body)
	return Event{seq, e.time, e.version, body}, err
}

// Append implements Store.
func (m *Memory) Append(ctx context.Context, batches ...Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	now := time.Now()
	next := map[string]*kept{} // the new versions of the sessions
	for _, b := range batches {
		events, err := b.Prepared(now)
		if err != nil {
			return err
		}
		s := next[b.Session]
		if s == nil {
			s = &kept{info: Info{ID: b.Session}}
			if old := m.sessions[b.Session]; old != nil {
				s.info, s.events = old.info, slices.Clip(old.events)
			}
			next[b.Session] = s
		}
		if s.info.Last != b.After {
			return b.Stale(s.info.Last)
		}
		for _, e := range events {
			raw, err := encode(e)
			if err != nil {
				return err
			}
			s.events = append(s.events, raw)
			s.info.Add(e)
		}
	}
	if m.sessions == nil {
		m.sessions = map[string]*kept{}
	}
	for id, s := range next {
		m.sessions[id] = s
	}
	return nil
}

// Events implements Store.
func (m *Memory) Events(ctx context.Context, id string, after uint64) ([]Event, []Damage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	s := m.sessions[id]
	if s == nil {
		return nil, nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	var out []Event
	for seq := after + 1; seq <= s.info.Last; seq++ {
		e, err := s.event(seq)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, e)
	}
	return out, nil, nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, q Query) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []Info
	for _, s := range m.sessions {
		if q.chosen(s.info) {
			out = append(out, s.info)
		}
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID))
	})
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

// Search implements Store.
func (m *Memory) Search(ctx context.Context, words []string, limit int) ([]Hit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	words = slices.Clone(words)
	for i := range words {
		words[i] = Folded(words[i])
	}
	var out []Hit
	for id, s := range m.sessions {
		for seq := uint64(1); seq <= s.info.Last; seq++ {
			e, err := s.event(seq)
			if err != nil {
				return nil, err
			}
			if e.Matches(words) {
				out = append(out, Hit{id, e})
			}
		}
	}
	slices.SortFunc(out, func(a, b Hit) int {
		return cmp.Or(b.Event.Time.Compare(a.Event.Time), cmp.Compare(b.Session, a.Session), cmp.Compare(b.Event.Seq, a.Event.Seq))
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}
