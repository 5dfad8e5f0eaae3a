package cachestate

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/prefix"
)

// Key is a cache key: what the cache of a provider goes by besides the messages. Each key
// has a cache of its own, and cold points of its own.
type Key struct {
	Model         string
	Tools, System uint64 // hashes
}

// Hash is the same in every process.
func (k Key) Hash() uint64 {
	var h prefix.Hasher
	h.Text(k.Model)
	h.Number(k.Tools)
	h.Number(k.System)
	return h.Sum64()
}

// PrefixChange says what of a request, before its messages, is not what the request before had.
type PrefixChange struct{ Tools, System bool }

func (k Key) changed(before Key) PrefixChange {
	return PrefixChange{Tools: k.Tools != before.Tools, System: k.System != before.System}
}

// matters reports whether the cache goes with a change. It does not where the cache has survived
// such a change, or where the change is a habit: it comes with every request.
func (c PrefixChange) matters(survived, habit PrefixChange) bool {
	return c.Tools && !survived.Tools && !habit.Tools || c.System && !survived.System && !habit.System
}

// lineage is a chain of requests, with its forks. Its fields belong to the State's lock.
type lineage struct {
	id       uint64            // record.Turn.Thread; 0: it is not known
	last     time.Time         // of the newest answer, or of a request on its way
	newest   *Snapshot         // nil: it came in another process
	keys     map[Key]*keyState //
	lifetime time.Duration     // that the cache has shown to have; 0: it has shown none
	cooled   time.Duration     // the shortest pause that the cache was seen not to outlive; 0: none
	survived PrefixChange      // changes that the cache was seen to outlive
	account  int               // record.Turn.Account
}

// keyState is what is known of one cache of a lineage.
type keyState struct {
	last     time.Time // as of the lineage
	lifetime time.Duration
	newest   *Snapshot   // as of the lineage
	forks    []*Snapshot // the newest requests, apart from newest, that no later one goes on from; newest first
}

// after is the state once a request goes out. k may be nil: the request is the first.
func (k *keyState) after(s *Snapshot, lifetime time.Duration) *keyState {
	next := &keyState{last: s.time, lifetime: lifetime, newest: s}
	if k == nil {
		return next
	}
	for _, fork := range append([]*Snapshot{k.newest}, k.forks...) {
		if fork != nil && s.shares(fork) < fork.stable && len(next.forks) < maxForks {
			next.forks = append(next.forks, fork)
		}
	}
	return next
}

// nearest is the snapshot that has the most messages in common with links, the newest of several,
// and how many these are. The newest of all counts always, the others where their cache lives.
func (k *keyState) nearest(links []uint64, gone func(since time.Time) bool) (found *Snapshot, common int) {
	found, common = k.newest, shared(links, k.newest)
	for _, fork := range k.forks {
		if n := shared(links, fork); n > common && !gone(fork.time) {
			found, common = fork, n
		}
	}
	return found, common
}

// set puts the state of a cache key in place. The oldest of too many leaves.
func (l *lineage) set(key Key, k *keyState) {
	if l.keys == nil {
		l.keys = map[Key]*keyState{}
	}
	l.keys[key] = k
	if len(l.keys) > maxKeys {
		oldest := key
		for other, state := range l.keys {
			if state.last.Before(l.keys[oldest].last) {
				oldest = other
			}
		}
		delete(l.keys, oldest)
	}
}

// answered notes when a request of a cache key was answered.
func (l *lineage) answered(key Key, at time.Time) {
	l.last = at
	if k := l.keys[key]; k != nil {
		k.last = at
		if k.newest != nil {
			k.newest.time = at
		}
	}
}

// take notes a turn of another process.
func (l *lineage) take(t *turn) {
	if !t.Time.Before(l.last) {
		l.last, l.account = t.Time, t.Account
	}
	switch k := l.keys[t.own]; {
	case k == nil:
		l.set(t.own, &keyState{last: t.Time, lifetime: t.Lifetime})
	case !t.Time.Before(k.last):
		k.last, k.lifetime = t.Time, t.Lifetime
	}
}

// keyOf is the cache key of a request, and what changed before its messages. The key is that of the
// request before where the cache does not go with the change.
func (l *lineage) keyOf(own Key, from beginnings) (Key, PrefixChange) {
	if l.keys[own] != nil {
		return own, PrefixChange{}
	}
	var before, key Key // what the request before had itself, and its cache key
	switch s := l.newest; {
	case from.own != nil:
		before, key = from.own.own, from.own.key()
	case s != nil && s.own.Model == own.Model:
		before, key = s.own, s.key
	default:
		return own, PrefixChange{}
	}
	changed := own.changed(before)
	if changed.matters(l.survived, from.habit()) {
		return own, changed
	}
	return key, changed
}

// expiry says which pauses a cache does not outlive.
type expiry struct {
	lifetime, cooled time.Duration
	vouched          bool
}

// ends reports whether the cache is certain to be gone after a pause.
func (e expiry) ends(pause time.Duration) bool {
	return pause > e.lifetime && (e.vouched || pause > time.Hour)
}

// gone reports whether the cache is taken to be gone after a pause. Providers that do not vouch for a
// lifetime may keep a cache for much longer than they say: it must have been seen to be gone once.
func (e expiry) gone(pause time.Duration) bool {
	return e.ends(pause) || pause > e.lifetime && e.cooled > 0 && pause >= e.cooled
}

// shift counts the places of points with so many more messages before them.
func shift(p history.Point, by int) history.Point {
	p.After += by
	return p
}

func shiftAll(points []history.Point, by int) []history.Point {
	points = slices.Clone(points)
	for i := range points {
		points[i] = shift(points[i], by)
	}
	return points
}
