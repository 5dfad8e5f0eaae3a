package proxy

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/record"
)

const (
	maxTurns  = 20_000          // that are remembered, and as many with a moment
	recalled  = 5_000           // of these, from the store
	maxViews  = 16              // models of a thread
	maxRecall = 2 * time.Second // time that recalling them from the store may take
)

// memory holds what is known of the requests that were answered: when, and at
// which moments they were planned anew. What the store has of them is recalled
// by the first that asks.
type memory struct {
	store record.Store // nil: nothing to recall
	log   *slog.Logger
	once  sync.Once
	rules *rules

	mu    sync.Mutex
	turns map[uint64][]*known // by the hash of their messages: one of each model
	count int                 // of them
}

// known is a turn and the thread that it is of, which knows what came after it.
type known struct {
	record.Turn
	thread *thread
}

// thread is a line of requests each of which goes on from one before it; forks
// are of the thread they came from. Its fields belong to the memory's lock.
type thread struct {
	last     time.Time        // of the newest answer, or of a request on its way
	views    map[string]*view // by model: each has a cache of its own
	lifetime time.Duration    // that the provider's cache has shown to have; 0: none was shown
	cooled   time.Duration    // the shortest pause past a lifetime that is not certain that the cache was seen not to outlive; 0: none
	account  int              // as record.Turn.Account
	longer   bool             // its markers ask for an hour
	prompt   int              // tokens of the newest prompt, as the provider counted
	bridged  float64          // plain input tokens that an hour's lifetime would have saved so far
	surplus  float64          // and what it would have cost more
	sent     *sent            // the newest request, as it went out; nil: it came in another process
	survives renewal          // changes that the provider's cache has been seen to outlive
}

// view is what a model has seen of a thread.
type view struct {
	last     time.Time     // as thread.last
	lifetime time.Duration // as record.Cache.Lifetime, of its newest request
	sent     *sent         // as thread.sent
}

// renewal says what before the messages is not what it was.
type renewal struct{ tools, system bool }

// answered notes a request to a model at a time, or its answer.
func (t *thread) answered(model string, at time.Time) {
	t.last = at
	if v := t.views[model]; v != nil {
		v.last = at
	}
}

func newMemory(store record.Store, rules *rules, log *slog.Logger) *memory {
	return &memory{store: store, rules: rules, log: log, turns: map[uint64][]*known{}}
}

// recall loads what is stored, once.
func (m *memory) recall() {
	m.once.Do(func() {
		if m.store == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), maxRecall)
		defer cancel()
		turns, err := m.store.Turns(ctx, recalled)
		if err != nil {
			m.log.Warn("earlier moments are not recalled", "error", err)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		threads := map[any]*thread{}
		for _, turn := range turns { // the newest first
			of := struct {
				conversation  string
				system, tools uint64
			}{turn.Conversation, turn.System, turn.Tools}
			t := threads[of]
			if t == nil || turn.Conversation == "" {
				t = &thread{last: turn.Time, account: turn.Account, longer: turn.Longer, views: map[string]*view{}}
				threads[of] = t
			}
			if t.views[turn.Model] == nil {
				t.views[turn.Model] = &view{last: turn.Time, lifetime: turn.Lifetime}
			}
			m.put(turn.Prefix^modelHash(turn.Model), &known{turn, t})
		}
	})
}

// modelHash sets the turns of a model apart from those of others.
func modelHash(model string) uint64 { return xxh3.HashString(model) }

// turn is the turn of a model that ends at a hash; nil if there is none. The
// caller holds the lock.
func (m *memory) turn(end uint64, model string) *known {
	for _, k := range m.turns[end] {
		if k.Model == model {
			return k
		}
	}
	return nil
}

// put takes k in, in place of that of its model. The caller holds the lock.
func (m *memory) put(end uint64, k *known) {
	m.drop(end, k.Model)
	m.turns[end] = append(m.turns[end], k)
	m.count++
}

// drop takes the turn of a model out. The caller holds the lock.
func (m *memory) drop(end uint64, model string) {
	same := m.turns[end]
	left := slices.DeleteFunc(slices.Clone(same), func(k *known) bool { return k.Model == model })
	m.count -= len(same) - len(left)
	if len(left) == 0 {
		delete(m.turns, end)
	} else {
		m.turns[end] = left
	}
}

// breaks are the moments that a model's requests of beginnings of c were planned at.
func (m *memory) breaks(c *chain, salt uint64, model string) []history.Break {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []history.Break
	for i, link := range c.links {
		if k := m.turn(link^salt, model); k != nil && k.Moment != "" {
			out = append(out, history.Break{After: c.skip + i + 1, Why: history.Moment(k.Moment)})
		}
	}
	return out
}

// trail are the turns of beginnings of c.
type trail struct {
	any      *known // the longest
	own, old *known // the two longest of the request's model
}

// trail returns the turns that a request goes on from. The caller holds the lock.
func (m *memory) trail(c *chain, salt uint64, model string) (t trail) {
	for i := len(c.links) - 1; i >= 0; i-- {
		for _, k := range slices.Backward(m.turns[c.links[i]^salt]) {
			if t.any == nil {
				t.any = k
			}
			switch {
			case k.Model != model:
			case t.own == nil:
				t.own = k
			default:
				t.old = k
				return t
			}
		}
	}
	return t
}

// named returns the name of the conversation, of an earlier process, that c goes on
// from; empty if there is none, or another goes on from it already.
func (m *memory) named(c *chain, salt uint64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(c.links) - 1; i >= c.answer; i-- {
		if same := m.turns[c.links[i]^salt]; len(same) > 0 {
			if same[0].thread.sent == nil {
				return same[0].Conversation
			}
			return ""
		}
	}
	return ""
}

// forget drops all but the newest turns. The caller holds the lock.
func (m *memory) forget() {
	var all [2][]*known
	for _, same := range m.turns {
		for _, k := range same {
			i := 0
			if k.Moment != "" {
				i = 1
			}
			all[i] = append(all[i], k)
		}
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b *known) int { return b.Time.Compare(a.Time) })
		for _, k := range some[min(maxTurns, len(some)):] {
			m.drop(k.Prefix^modelHash(k.Model), k.Model)
		}
	}
}
