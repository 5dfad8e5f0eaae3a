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
	return ownElided(m.newestTurns(limit)), nil
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
	return ownElided(found), nil
}

// ownElided gives each turn its own Elided, because the caller owns what is returned.
func ownElided(turns []Turn) []Turn {
	for i := range turns {
		turns[i].Elided = slices.Clone(turns[i].Elided)
	}
	return turns
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

// newestTurns returns copies, the newest first: up to limit with a Moment, and up to limit without.
func (m *Memory) newestTurns(limit int) []Turn {
	all := slices.Clone(m.turns)
	slices.SortStableFunc(all, func(a, b Turn) int { return b.Time.Compare(a.Time) })
	plain, moments := 0, 0
	return slices.DeleteFunc(all, func(t Turn) bool {
		n := &plain
		if t.Moment != "" {
			n = &moments
		}
		*n++
		return *n > limit
	})
}

// putTurn stores t. It replaces the turn with the same prefix.
func (m *Memory) putTurn(t Turn) {
	t.Time, t.Elided = stored(t.Time), slices.Clone(t.Elided)
	i := slices.IndexFunc(m.turns, func(u Turn) bool { return u.Prefix == t.Prefix })
	if i < 0 {
		m.turns = append(m.turns, t)
		return
	}
	if m.turns[i].Moment != "" {
		t.Moment = m.turns[i].Moment
	}
	if len(t.Elided) == 0 {
		t.Elided = m.turns[i].Elided
	}
	if m.turns[i].Time.After(t.Time) {
		t.Time = m.turns[i].Time
	}
	m.turns[i] = t
}
