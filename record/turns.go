package record

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Turns implements Store.
func (m *Memory) Turns(ctx context.Context, limit int) ([]Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.newestTurns(limit), nil
}

// TurnsAt implements Store.
func (m *Memory) TurnsAt(ctx context.Context, prefixes []uint64) ([]Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(m.turns), func(t Turn) bool { return !slices.Contains(prefixes, t.Prefix) })
	slices.SortStableFunc(found, func(a, b Turn) int { return b.Time.Compare(a.Time) })
	return found, nil
}

// Prune implements Store.
func (m *Memory) Prune(ctx context.Context, l Limits) (removed int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	before := len(m.requests)
	since := l.Since
	if n := len(m.requests) - l.Requests; l.Requests > 0 && n > 0 && m.requests[n].Time.After(since) {
		since = m.requests[n].Time
	}
	m.requests = slices.DeleteFunc(m.requests, func(r Request) bool { return r.Time.Before(since) })
	m.trims = slices.DeleteFunc(m.trims, func(t Trim) bool { return t.Time.Before(since) })
	if l.Turns > 0 {
		m.turns = m.newestTurns(l.Turns)
	}
	m.turns = slices.DeleteFunc(m.turns, func(t Turn) bool { return t.Time.Before(l.Since) })
	m.pruneForms(l.Since, l.FormBytes)
	maps.DeleteFunc(m.refusals, func(_ uint64, at time.Time) bool { return at.Before(l.Since) })
	m.pruneTools(since)
	return before - len(m.requests), nil
}

// newestTurns returns copies of up to limit turns, the newest first.
func (m *Memory) newestTurns(limit int) []Turn {
	all := slices.Clone(m.turns)
	slices.SortStableFunc(all, func(a, b Turn) int { return b.Time.Compare(a.Time) })
	return all[:min(len(all), max(limit, 0))]
}

// putTurn stores t. It replaces the turn with the same prefix.
func (m *Memory) putTurn(t Turn) {
	t.Time = stored(t.Time)
	i := slices.IndexFunc(m.turns, func(u Turn) bool { return u.Prefix == t.Prefix })
	if i < 0 {
		m.turns = append(m.turns, t)
		return
	}
	if m.turns[i].Time.After(t.Time) {
		t.Time = m.turns[i].Time
	}
	m.turns[i] = t
}
