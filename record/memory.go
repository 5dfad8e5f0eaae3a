package record

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed is returned by every call on a closed store or trail.
var ErrClosed = errors.New("record store is closed")

// ErrFull says that a store has no space: its disk is full, or the user's quota on it. Nothing was stored.
var ErrFull = errors.New("no space left for stet's record")

// Memory is a [Store] and a [Trail] in memory. Its content ends with the process. The zero value is empty and ready.
type Memory struct {
	mu       sync.Mutex
	requests []Request
	trims    []Trim
	trail    []Entry
	turns    []Turn
	forms    map[uint64]SentForm
	places   []SentPlace
	refusals map[uint64]time.Time // by account

	toolSets  map[uint64][]OfferedTool
	toolCalls map[toolUser]ToolCalls

	seen   map[[3]string]bool // keys of stored rows, which must not be stored twice: request ids, and {request, call, reason}
	closed bool
}

var (
	_ Store = (*Memory)(nil)
	_ Trail = (*Memory)(nil)
)

// Append implements Store.
func (m *Memory) Append(ctx context.Context, b Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if m.seen == nil {
		m.seen = map[[3]string]bool{}
	}
	for _, r := range b.Requests {
		if key := [3]string{"\x00request", r.ID}; !m.seen[key] {
			m.seen[key] = true
			r.Time = stored(r.Time)
			m.requests = append(m.requests, r)
		}
	}
	for _, t := range b.Trims {
		if key := [3]string{t.Request, t.CallID, t.Reason}; !m.seen[key] {
			m.seen[key] = true
			t.Time = stored(t.Time)
			t.Paths = clonePaths(t.Paths)
			m.trims = append(m.trims, t)
		}
	}
	for _, t := range b.Turns {
		m.putTurn(t)
	}
	m.putForms(b)
	for _, r := range b.Refusals {
		if m.refusals == nil {
			m.refusals = map[uint64]time.Time{}
		}
		m.refusals[r.Account] = stored(r.Time)
	}
	m.putTools(b)
	slices.SortStableFunc(m.requests, func(a, b Request) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(m.trims, func(a, b Trim) int { return a.Time.Compare(b.Time) })
	return nil
}

// Requests implements Store.
func (m *Memory) Requests(ctx context.Context, q Query) ([]Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []Request
	for _, r := range m.requests {
		if q.chooses(r.Time, r.Conversation, r.Observe) {
			out = append(out, r)
		}
	}
	return newest(out, q.Limit), nil
}

// Trims implements Store.
func (m *Memory) Trims(ctx context.Context, q Query) ([]Trim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []Trim
	for _, t := range m.trims {
		if q.chooses(t.Time, t.Conversation, t.Observe) {
			t.Paths = clonePaths(t.Paths)
			out = append(out, t)
		}
	}
	return newest(out, q.Limit), nil
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

func (q Query) chooses(at time.Time, conversation string, observe bool) bool {
	switch {
	case !q.From.IsZero() && at.Before(q.From), !q.To.IsZero() && !at.Before(q.To):
		return false
	case q.Conversation != "" && q.Conversation != conversation:
		return false
	}
	return q.Mode == All || (q.Mode == Observed) == observe
}

func newest[T any](rows []T, limit int) []T {
	if limit > 0 && len(rows) > limit {
		return slices.Clone(rows[len(rows)-limit:])
	}
	return rows
}

// stored returns t as every store keeps it: in UTC, with microseconds.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func clonePaths(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	return slices.Clone(paths)
}
