package proxy

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/record"
)

const (
	maxTurns  = 20_000          // that are remembered, and as many with a moment
	recalled  = 5_000           // of these, from the store
	maxRecall = 2 * time.Second // time that recalling them from the store may take
)

// memory holds what is known of the requests that were answered: when, and at
// which moments they were planned anew. What the store has of them is recalled
// by the first that asks.
type memory struct {
	store record.Store // nil: nothing to recall
	log   *slog.Logger
	once  sync.Once
	rules rules

	mu    sync.Mutex
	turns map[uint64]*known // by record.Turn.Prefix
}

// known is a turn and the thread that it is of, which knows what came after it.
type known struct {
	record.Turn
	thread *thread
}

// thread is a line of requests each of which goes on from one before it; forks
// are of the thread they came from. Its fields belong to the memory's lock.
type thread struct {
	last     time.Time     // of the newest answer, or of a request on its way
	lifetime time.Duration // that the provider's cache has shown to have; 0: none was shown
	account  int           // as record.Turn.Account
	longer   bool          // its markers ask for an hour
	prompt   int           // tokens of the newest prompt, as the provider counted
	bridged  float64       // plain input tokens that an hour's lifetime would have saved so far
	surplus  float64       // and what it would have cost more
	sent     *sent         // the newest request, as it went out; nil: not known
}

func newMemory(store record.Store, log *slog.Logger) *memory {
	return &memory{store: store, log: log, turns: map[uint64]*known{}}
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
		for _, t := range turns {
			m.turns[t.Prefix] = &known{t, &thread{last: t.Time, account: t.Account, longer: t.Longer}}
		}
	})
}

// breaks are the moments that requests of beginnings of c were planned at.
func (m *memory) breaks(c *chain, salt uint64) []history.Break {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []history.Break
	for i, link := range c.links {
		if k := m.turns[link^salt]; k != nil && k.Moment != "" {
			out = append(out, history.Break{After: c.skip + i + 1, Why: history.Moment(k.Moment)})
		}
	}
	return out
}

// longest returns the turn of the longest beginning of c, and how many links it
// has; nil if there is none. The caller holds the lock.
func (m *memory) longest(c *chain, salt uint64) (*known, int) {
	for i := len(c.links) - 1; i >= 0; i-- {
		if k := m.turns[c.links[i]^salt]; k != nil {
			return k, i + 1
		}
	}
	return nil, 0
}

// forget drops all but the newest turns. The caller holds the lock.
func (m *memory) forget() {
	var all [2][]*known
	for _, k := range m.turns {
		i := 0
		if k.Moment != "" {
			i = 1
		}
		all[i] = append(all[i], k)
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b *known) int { return b.Time.Compare(a.Time) })
		for _, k := range some[min(maxTurns, len(some)):] {
			delete(m.turns, k.Prefix)
		}
	}
}
