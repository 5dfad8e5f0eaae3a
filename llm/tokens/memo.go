package tokens

import (
	"cmp"
	"hash/maphash"
	"sync"
)

// Memo is a Counter that caches its results by hash of the text. So a conversation that is sent again costs only a hash of its
// messages. Its methods may be called concurrently.
type Memo struct {
	Counter Counter // nil: Estimate{}
	Entries int     // limit of entries, briefly twice that; 0: 65,536

	mu       sync.Mutex
	seed     maphash.Seed
	now, old map[memoKey]int
}

type memoKey struct {
	hash   uint64
	length int
}

// memoMin is the text length, in bytes, from which caching is faster than estimating.
const memoMin = 128

// Count implements Counter.
func (m *Memo) Count(text string) int {
	c := m.Counter
	if c == nil {
		c = Estimate{}
	}
	if len(text) < memoMin {
		return c.Count(text)
	}
	m.mu.Lock()
	if m.now == nil {
		m.seed = maphash.MakeSeed()
		m.now = make(map[memoKey]int)
	}
	seed := m.seed
	m.mu.Unlock()
	key := memoKey{maphash.String(seed, text), len(text)}
	if n, ok := m.get(key); ok {
		return n
	}
	n := c.Count(text)
	m.put(key, n)
	return n
}

func (m *Memo) get(key memoKey) (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.now[key]; ok {
		return n, true
	}
	n, ok := m.old[key]
	if ok {
		m.keep(key, n)
	}
	return n, ok
}

func (m *Memo) put(key memoKey, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, n)
}

// keep stores n. When the map is full, it becomes the old map, and the entries of the previous old map that were not used since are
// dropped.
func (m *Memo) keep(key memoKey, n int) {
	limit := cmp.Or(m.Entries, 1<<16)
	if len(m.now) >= limit {
		m.old, m.now = m.now, make(map[memoKey]int)
	}
	m.now[key] = n
}
