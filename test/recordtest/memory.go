package recordtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

// Memory is a [record.Store] and a [record.Trail] in memory. Its content ends with the process. The zero value is empty and ready.
type Memory struct {
	mu       sync.Mutex
	requests []record.Request
	arrived  []record.Request // in the order of arrival
	trims    []record.Trim
	trail    []record.Entry
	turns    []record.Turn
	forms    map[uint64]record.SentForm
	places   []record.SentPlace
	refusals map[uint64]time.Time // by account

	notes     map[[2]string]record.Note // by kind and key
	toolSets  map[uint64][]record.OfferedTool
	toolCalls map[toolUser]record.ToolCalls

	seen   map[[3]string]bool // keys of stored rows, which must not be stored twice: request ids, and {request, call, reason}
	closed bool
}

var (
	_ record.Store = (*Memory)(nil)
	_ record.Trail = (*Memory)(nil)
)

// Append implements record.Store.
func (m *Memory) Append(ctx context.Context, b record.Batch) error {
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
			m.requests, m.arrived = append(m.requests, r), append(m.arrived, r)
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
	for _, n := range b.Notes {
		if m.notes == nil {
			m.notes = map[[2]string]record.Note{}
		}
		n.Time = stored(n.Time)
		m.notes[[2]string{n.Kind, n.Key}] = n
	}
	m.putTools(b)
	slices.SortStableFunc(m.requests, func(a, b record.Request) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(m.trims, func(a, b record.Trim) int { return a.Time.Compare(b.Time) })
	return nil
}

// Requests implements record.Store.
func (m *Memory) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []record.Request
	for _, r := range m.requests {
		if chooses(q, r.Time, r.Conversation) && (q.Tree == "" || q.Tree == r.Conversation || q.Tree == r.Root) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b record.Request) int { return a.Time.Compare(b.Time) }) // rows may arrive in another order
	return limited(out, q), nil
}

// Arrived implements record.Store.
func (m *Memory) Arrived(ctx context.Context, since record.Cursor) ([]record.Request, record.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, since, err
	}
	next := record.Cursor{Last: int64(len(m.arrived)), At: time.Now()}
	if since.At.IsZero() {
		return nil, next, nil
	}
	return slices.Clone(m.arrived[since.Last:]), next, nil
}

// Trims implements record.Store.
func (m *Memory) Trims(ctx context.Context, q record.Query) ([]record.Trim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []record.Trim
	for _, t := range m.trims {
		if chooses(q, t.Time, t.Conversation) {
			t.Paths = clonePaths(t.Paths)
			out = append(out, t)
		}
	}
	return limited(out, q), nil
}

// Close implements record.Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return record.ErrClosed
	}
	return ctx.Err()
}

// Refuses implements record.Store.
func (m *Memory) Refuses(ctx context.Context, account uint64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, refuses := m.refusals[account]
	return refuses, m.usable(ctx)
}

// Notes implements record.Store.
func (m *Memory) Notes(ctx context.Context, kind string, keys ...string) (out []record.Note, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.notes {
		if n.Kind == kind && n.Text != "" && (len(keys) == 0 || slices.Contains(keys, n.Key)) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b record.Note) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Key, b.Key)) })
	return out, m.usable(ctx)
}

// SentForms implements record.Store.
func (m *Memory) SentForms(ctx context.Context, places []uint64) (at []record.SentPlace, forms []record.SentForm, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	seen := map[uint64]bool{}
	for _, p := range m.places {
		if !slices.Contains(places, p.Place) {
			continue
		}
		at = append(at, p)
		for id := p.Form; id != 0 && !seen[id]; id = m.forms[id].Parent {
			f, ok := m.forms[id]
			if !ok {
				break
			}
			seen[id] = true
			f.Edits = slices.Clone(f.Edits)
			forms = append(forms, f)
		}
	}
	slices.SortStableFunc(at, func(a, b record.SentPlace) int { return b.Time.Compare(a.Time) })
	return at, forms, nil
}

// putForms stores the forms and places of b.
func (m *Memory) putForms(b record.Batch) {
	if m.forms == nil {
		m.forms = map[uint64]record.SentForm{}
	}
	for _, f := range b.Forms {
		if _, ok := m.forms[f.ID]; !ok {
			f.Edits = slices.Clone(f.Edits)
			m.forms[f.ID] = f
		}
	}
	for _, p := range b.Places {
		p.Time = stored(p.Time)
		m.places = slices.DeleteFunc(m.places, func(q record.SentPlace) bool {
			same := q.Place == p.Place && q.Key == p.Key
			if same {
				p.Add(q)
			}
			return same
		})
		m.places = append(m.places, p)
	}
}

// pruneForms removes places older than since, and the oldest places until the rest takes at most limit bytes (0: no limit).
// It also removes forms that no place needs.
func (m *Memory) pruneForms(since time.Time, limit int64) {
	slices.SortStableFunc(m.places, func(a, b record.SentPlace) int { return b.Time.Compare(a.Time) })
	size := int64(0)
	m.places = slices.DeleteFunc(m.places, func(p record.SentPlace) bool {
		size += sentPlaceBytes + int64(len(m.forms[p.Form].Edits))
		return p.Time.Before(since) || limit > 0 && size > limit
	})
	used := map[uint64]record.SentForm{}
	for _, p := range m.places {
		for id := p.Form; id != 0; id = m.forms[id].Parent {
			f, ok := m.forms[id]
			if _, done := used[id]; done || !ok {
				break
			}
			used[id] = f
		}
	}
	m.forms = used
}

// Turns implements record.Store.
func (m *Memory) Turns(ctx context.Context, prefixes []uint64) ([]record.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	capacity := map[uint64]int{} // by thread
	for _, t := range m.turns {
		if slices.Contains(prefixes, t.Prefix) {
			capacity[t.Thread] = record.ThreadTurns
		}
	}
	return slices.DeleteFunc(m.newestTurns(len(m.turns)), func(t record.Turn) bool {
		capacity[t.Thread]--
		return capacity[t.Thread] < 0 && !slices.Contains(prefixes, t.Prefix)
	}), nil
}

// Prune implements record.Store.
func (m *Memory) Prune(ctx context.Context, l record.Limits) (removed int, err error) {
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
	m.requests = slices.DeleteFunc(m.requests, func(r record.Request) bool { return r.Time.Before(since) })
	m.trims = slices.DeleteFunc(m.trims, func(t record.Trim) bool { return t.Time.Before(since) })
	if l.Turns > 0 {
		m.turns = m.newestTurns(l.Turns)
	}
	m.turns = slices.DeleteFunc(m.turns, func(t record.Turn) bool { return t.Time.Before(l.Since) })
	m.pruneForms(l.Since, l.FormBytes)
	maps.DeleteFunc(m.refusals, func(_ uint64, at time.Time) bool { return at.Before(l.Since) })
	maps.DeleteFunc(m.notes, func(_ [2]string, n record.Note) bool { return n.Time.Before(l.Since) })
	m.pruneTools(since)
	return before - len(m.requests), nil
}

// newestTurns returns copies of up to limit turns, the newest first.
func (m *Memory) newestTurns(limit int) []record.Turn {
	all := slices.Clone(m.turns)
	slices.SortStableFunc(all, func(a, b record.Turn) int { return b.Time.Compare(a.Time) })
	return all[:min(len(all), max(limit, 0))]
}

// putTurn stores t. It replaces the turn with the same key.
func (m *Memory) putTurn(t record.Turn) {
	t.Time = stored(t.Time)
	i := slices.IndexFunc(m.turns, func(u record.Turn) bool {
		return u.Prefix == t.Prefix && u.Model == t.Model && u.System == t.System && u.Tools == t.Tools
	})
	if i < 0 {
		m.turns = append(m.turns, t)
		return
	}
	if m.turns[i].Time.After(t.Time) {
		t.Time = m.turns[i].Time
	}
	m.turns[i] = t
}

// Tools implements record.Store.
func (m *Memory) Tools(ctx context.Context, since time.Time) ([]record.ToolSet, []record.ToolCalls, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	var sets []record.ToolSet
	for _, id := range slices.Sorted(maps.Keys(m.toolSets)) {
		sets = append(sets, record.ToolSet{ID: id, Tools: slices.Clone(m.toolSets[id])})
	}
	var calls []record.ToolCalls
	for _, c := range m.toolCalls {
		if !c.Time.Before(since) {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b record.ToolCalls) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Tool, b.Tool))
	})
	return sets, calls, nil
}

// putTools stores sets of tools and calls.
func (m *Memory) putTools(b record.Batch) {
	if m.toolSets == nil {
		m.toolSets, m.toolCalls = map[uint64][]record.OfferedTool{}, map[toolUser]record.ToolCalls{}
	}
	for _, s := range b.ToolSets {
		if _, ok := m.toolSets[s.ID]; !ok {
			m.toolSets[s.ID] = slices.Clone(s.Tools)
		}
	}
	for _, c := range b.ToolCalls {
		c.Time, c.Calls = stored(c.Time), max(c.Calls, m.toolCalls[keyOf(c)].Calls)
		m.toolCalls[keyOf(c)] = c
	}
}

// pruneTools removes sets that no request names, and calls that were counted before since.
func (m *Memory) pruneTools(since time.Time) {
	used := map[uint64]bool{}
	for _, r := range m.requests {
		used[r.ToolSet] = true
	}
	maps.DeleteFunc(m.toolSets, func(id uint64, _ []record.OfferedTool) bool { return !used[id] })
	maps.DeleteFunc(m.toolCalls, func(_ toolUser, c record.ToolCalls) bool { return c.Time.Before(since) })
}

// Log implements record.Trail.
func (m *Memory) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var last record.Link
	if n := len(m.trail); n > 0 {
		last = m.trail[n-1].Link()
	}
	chained := record.Chain(last, entries)
	for _, e := range chained {
		e.Flags = slices.Clone(e.Flags)
		m.trail = append(m.trail, e)
	}
	return chained, nil
}

// Entries implements record.Trail.
func (m *Memory) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var out []record.Entry
	for _, e := range m.trail {
		if wants(q, e) {
			e.Flags = slices.Clone(e.Flags)
			out = append(out, e)
		}
	}
	if q.Last {
		return newest(out, q.Limit), nil
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = slices.Clone(out[:q.Limit])
	}
	return out, nil
}

func chooses(q record.Query, at time.Time, conversation string) bool {
	return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To)) &&
		(q.Conversation == "" || q.Conversation == conversation)
}

func limited[T any](rows []T, q record.Query) []T {
	if q.Oldest && q.Limit > 0 {
		return slices.Clone(rows[:min(len(rows), q.Limit)])
	}
	return newest(rows, q.Limit)
}

func newest[T any](rows []T, limit int) []T {
	if limit > 0 && len(rows) > limit {
		return slices.Clone(rows[len(rows)-limit:])
	}
	return rows
}

func clonePaths(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	return slices.Clone(paths)
}

// toolUser is the key of record.ToolCalls.
type toolUser struct{ conversation, agent, tool string }

func keyOf(c record.ToolCalls) toolUser { return toolUser{c.Conversation, c.Agent, c.Tool} }

func wants(q record.TrailQuery, e record.Entry) bool {
	switch {
	case e.Seq <= q.After, !q.From.IsZero() && e.Time.Before(q.From), !q.To.IsZero() && !e.Time.Before(q.To):
		return false
	case q.Root != "" && q.Root != e.Root, q.Session != "" && q.Session != e.Session:
		return false
	case q.CallID != "" && (q.CallID != e.CallID || e.Request == ""):
		return false
	}
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)
}

// sentPlaceBytes is the approximate size of a place in a store, in bytes.
const sentPlaceBytes = 64

// stored returns t as every store keeps it: in UTC, with microseconds.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
