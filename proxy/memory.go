package proxy

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

const (
	maxTurns  = 20_000          // that are remembered, and as many with a moment
	recalled  = maxTurns        // of these, from the store
	caughtUp  = 500             // likewise, when another process seems to have asked
	maxViews  = 64              // lines of a thread
	maxForks  = 16              // of a line in a thread
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
	salt  uint64 // of all hashes

	mu     sync.Mutex
	looked time.Time                // when it was looked up last what others had asked
	turns  map[uint64][]*known      // by the hash of their messages: one of each line
	count  int                      // of them
	elided map[line]map[*known]bool // of them, those that say what had left
}

// line is what a provider's cache goes by beside the messages: each has a cache of
// its own, and moments of its own. A request whose tools or system text are new is of
// the line of the one before if the cache does not go by the change.
type line struct {
	model         string
	tools, system uint64
}

// hash sets the turns of a line apart from those of others; it is the same in every
// process.
func (l line) hash() uint64 {
	var h hasher
	h.text(l.model)
	h.number(l.tools)
	h.number(l.system)
	return h.Sum64()
}

// known is a turn and the thread that it is of, which knows what came after it. Its
// Tools and System are its line's.
type known struct {
	record.Turn
	thread *thread
	asked  line            // what it offered itself; its line, if it came in another process
	breaks []history.Point // that it was planned with, counted from behind the system text
	stored bool            // it came in another process: the breaks are not known
}

func (k *known) line() line { return line{k.Model, k.Tools, k.System} }

// newest orders turns, the newest first.
func newest(a, b *known) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Prefix, b.Prefix))
}

// thread is a line of requests each of which goes on from one before it; forks
// are of the thread they came from. Its fields belong to the memory's lock.
type thread struct {
	id       uint64    // as record.Turn.Thread; 0: it is not known
	last     time.Time // of the newest answer, or of a request on its way
	views    map[line]*view
	lifetime time.Duration // that the provider's cache has shown to have; 0: none was shown
	cooled   time.Duration // the shortest pause past a lifetime that is not certain that the cache was seen not to outlive; 0: none
	account  int           // as record.Turn.Account
	sent     *sent         // the newest request, as it went out; nil: it came in another process
	survives renewal       // changes that the provider's cache has been seen to outlive
}

// view is what a line has seen of a thread.
type view struct {
	last     time.Time     // as thread.last
	lifetime time.Duration // as record.Cache.Lifetime, of its newest request
	sent     *sent         // as thread.sent
	forks    []*sent       // newest requests that no later one goes on from, but for sent; newest first
}

// answered notes the answer to a request of a line at a time.
func (t *thread) answered(l line, at time.Time) {
	t.last = at
	if v := t.views[l]; v != nil {
		v.last = at
		if v.sent != nil {
			v.sent.time = at
		}
	}
}

// after is the view once a request goes out, s. v may be nil: it is the first.
func (v *view) after(s *sent, lifetime time.Duration) *view {
	next := &view{last: s.time, lifetime: lifetime, sent: s}
	if v == nil {
		return next
	}
	for _, fork := range append([]*sent{v.sent}, v.forks...) {
		if fork != nil && s.shares(fork) < fork.stable && len(next.forks) < maxForks {
			next.forks = append(next.forks, fork)
		}
	}
	return next
}

// nearest is the request with the most messages in common with s, the newest of
// these, and how many that are. Requests whose cache is gone count for nothing, but
// for the newest.
func (v *view) nearest(s *sent, gone func(since time.Time) bool) (found *sent, common int) {
	found, common = v.sent, s.shares(v.sent)
	for _, fork := range v.forks {
		if n := s.shares(fork); n > common && !gone(fork.time) {
			found, common = fork, n
		}
	}
	return found, common
}

// see sets what a line has seen of the thread.
func (t *thread) see(l line, v *view) {
	if t.views == nil {
		t.views = map[line]*view{}
	}
	t.views[l] = v
	if len(t.views) > maxViews {
		oldest := l
		for other, seen := range t.views {
			if seen.last.Before(t.views[oldest].last) {
				oldest = other
			}
		}
		delete(t.views, oldest)
	}
}

func newMemory(store record.Store, rules *rules, log *slog.Logger) *memory {
	return &memory{store: store, rules: rules, log: log, turns: map[uint64][]*known{}, elided: map[line]map[*known]bool{}}
}

// recall loads what is stored, once.
func (m *memory) recall() { m.once.Do(func() { m.load(recalled) }) }

// catchUp loads what is new in the store where a request goes on from answers that
// nothing is known of: another process may have asked for them. It does so once a
// second at most, because some conversations stay unknown for ever. Where there is thinking
// it always does so, and looks further back, because the provider may check what was sent.
// Once such a request has gone out, its conversation is known.
func (m *memory) catchUp(req *llm.Request, c *chain, now time.Time) {
	if m.recall(); m.store == nil || !c.told() {
		return
	}
	m.mu.Lock()
	missed, bound := m.unknown(req, c) > 1, firstThought(req) >= 0 // one is the answer to the request before
	due := missed && (bound || now.Sub(m.looked) >= time.Second)
	if due {
		m.looked = now
	}
	m.mu.Unlock()
	if !due {
		return
	}
	if m.load(caughtUp); !bound {
		return
	}
	m.mu.Lock()
	missed = m.unknown(req, c) > 1
	m.mu.Unlock()
	if missed {
		m.load(recalled)
	}
}

// unknown counts the answers of the model behind the longest turn that c begins with.
// The caller holds the lock.
func (m *memory) unknown(req *llm.Request, c *chain) (n int) {
	salt := m.saltOf(req)
	for i := c.stable - 1; i >= 0 && len(m.turns[c.links[i]^salt]) == 0; i-- {
		if at := c.skip + i; req.Messages[at].Role == llm.Assistant && (i == 0 || req.Messages[at-1].Role != llm.Assistant) {
			n++
		}
	}
	return n
}

// load takes in the newest turns of the store, so many and as many moments, of which
// nothing newer is known.
func (m *memory) load(limit int) {
	if m.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxRecall)
	defer cancel()
	turns, err := m.store.Turns(ctx, limit)
	if err != nil {
		m.log.Warn("earlier moments are not recalled", "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	threads := map[any]*thread{}
	for _, same := range m.turns {
		for _, k := range same {
			threads[k.thread.id] = k.thread
		}
	}
	delete(threads, uint64(0))
	for _, turn := range slices.Backward(turns) { // the oldest first
		k := &known{Turn: turn, stored: true}
		k.asked = k.line()
		end := turn.Prefix ^ k.asked.hash()
		was := m.turn(end, k.asked)
		if was != nil && !turn.Time.After(was.Time) {
			continue
		}
		var of any = turn.Thread
		if turn.Thread == 0 {
			of = turn.Conversation
		}
		if k.thread = threads[of]; k.thread == nil || of == "" {
			k.thread = &thread{id: turn.Thread}
			threads[of] = k.thread
		}
		k.thread.recalled(k)
		m.put(end, k)
	}
}

// recalled takes in a turn of another process.
func (t *thread) recalled(k *known) {
	if !k.Time.Before(t.last) {
		t.last, t.account = k.Time, k.Account
	}
	switch v := t.views[k.asked]; {
	case v == nil:
		t.see(k.asked, &view{last: k.Time, lifetime: k.Lifetime})
	case !k.Time.Before(v.last):
		v.last, v.lifetime = k.Time, k.Lifetime
	}
}

// turn is the turn of a line that ends at a hash; nil if there is none. The
// caller holds the lock.
func (m *memory) turn(end uint64, l line) *known {
	for _, k := range m.turns[end] {
		if k.line() == l {
			return k
		}
	}
	return nil
}

// put takes k in, in place of that of its line. The caller holds the lock.
func (m *memory) put(end uint64, k *known) {
	l := k.line()
	m.drop(end, l)
	m.turns[end] = append(m.turns[end], k)
	m.count++
	if len(k.Elided) > 0 {
		if m.elided[l] == nil {
			m.elided[l] = map[*known]bool{}
		}
		m.elided[l][k] = true
	}
}

// drop takes the turn of a line out. The caller holds the lock.
func (m *memory) drop(end uint64, l line) {
	k := m.turn(end, l)
	if k == nil {
		return
	}
	m.count--
	if m.turns[end] = slices.DeleteFunc(slices.Clone(m.turns[end]), func(other *known) bool { return other == k }); len(m.turns[end]) == 0 {
		delete(m.turns, end)
	}
	if delete(m.elided[l], k); len(m.elided[l]) == 0 {
		delete(m.elided, l)
	}
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
		slices.SortFunc(some, newest)
		for _, k := range some[min(maxTurns, len(some)):] {
			m.drop(k.Prefix^k.line().hash(), k.line())
		}
	}
}
