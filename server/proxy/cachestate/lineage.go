package cachestate

import (
	"time"

	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/trim"
)

// Key is a cache key: what identifies a provider's cache besides the messages. Each key has its own cache.
type Key struct {
	Model         string
	Tools, System uint64 // hashes
}

// Hash returns the same value in every process.
func (k Key) Hash() uint64 {
	var h prefix.Hasher
	h.Text(k.Model)
	h.Number(k.Tools)
	h.Number(k.System)
	return h.Sum64()
}

// PrefixChange says which parts before the messages differ from the previous request.
type PrefixChange struct{ Tools, System bool }

func (k Key) changed(before Key) PrefixChange {
	return PrefixChange{Tools: k.Tools != before.Tools, System: k.System != before.System}
}

// matters reports whether the cache is lost because of a change. It is not lost if the cache has survived such a change before, or
// if every request has this change (a habit).
func (c PrefixChange) matters(survived, habit PrefixChange) bool {
	return c.Tools && !survived.Tools && !habit.Tools || c.System && !survived.System && !habit.System
}

// lineage is a chain of requests with its forks. State's lock guards its fields.
type lineage struct {
	id       uint64            // record.Turn.Thread; 0: none yet
	last     time.Time         // time of the newest answer, or of a request without an answer yet
	newest   *Snapshot         // nil: it came in another process
	keys     map[Key]*keyState //
	lifetime time.Duration     // longest observed lifetime of the cache; 0: none
	ended    trim.Ended        // shortest pauses after which the cache was gone
	survived PrefixChange      // changes that the cache survived
	account  int               // record.Turn.Account
}

// keyState is what is known of one cache of a lineage.
type keyState struct {
	last     time.Time // as in the lineage
	lifetime time.Duration
	newest   *Snapshot // as in the lineage
}

// set stores the state of a cache key. If there are too many, the oldest is removed.
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

// answered records the time of an answer to a request of a cache key.
func (l *lineage) answered(key Key, at time.Time) {
	l.last = at
	if k := l.keys[key]; k != nil {
		k.last = at
		if k.newest != nil {
			k.newest.time = at
		}
	}
}

// take adds a turn of another process.
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

// keyOf returns the cache key of a request, and what changed before its messages. If the cache survives the change, the key is the
// previous request's key.
func (l *lineage) keyOf(own Key, from beginnings) (Key, PrefixChange) {
	if l.keys[own] != nil {
		return own, PrefixChange{}
	}
	var before, key Key // the previous request's own key, and its cache key
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

// expiry says after which pause a cache is gone.
type expiry struct {
	lifetime time.Duration
	ended    trim.Ended
	vouched  bool
}

// ends reports whether the cache is certainly gone after a pause.
func (e expiry) ends(pause time.Duration) bool {
	return pause > e.lifetime && (e.vouched || pause > time.Hour)
}

// gone returns whether the cache is assumed to be gone after a pause: a gap, a guess, or "". A provider without a guaranteed lifetime
// may keep a cache much longer than it says. So the cache must have been observed to be gone once.
func (e expiry) gone(pause time.Duration) trim.Cause {
	switch {
	case pause <= e.lifetime:
		return ""
	case e.ends(pause):
		return trim.Gap
	}
	return e.ended.After(pause)
}
