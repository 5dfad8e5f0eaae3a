// Package ratelimit limits how often something may happen in a minute. The allowance grows steadily, and is full again after a
// minute of rest.
//
// A caller above the limit is told how long to wait, and its event does not count.
package ratelimit

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter allows a number of events in a minute. A nil *Limiter has no limit. It may be used concurrently.
type Limiter struct {
	mu      sync.Mutex
	rate    *rate.Limiter
	refused int // refused events in a row
	last    time.Time
}

// New returns a Limiter of perMinute events in a minute; nil if perMinute is not above 0.
func New(perMinute int) *Limiter {
	if perMinute <= 0 {
		return nil
	}
	return &Limiter{rate: rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)}
}

// Take counts an event if it returns wait 0. Otherwise the event is above the limit, and may be tried again after wait. before is
// the number of events refused directly before it.
func (l *Limiter) Take(now time.Time) (wait time.Duration, before int) { return l.TakeAll(now, 1) }

// TakeAll is Take for n events: all of them count, or none. n must not be above the limit of a minute.
func (l *Limiter) TakeAll(now time.Time, n int) (wait time.Duration, before int) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = now
	before = l.refused
	place := l.rate.ReserveN(now, n)
	if wait = place.DelayFrom(now); wait > 0 {
		place.CancelAt(now)
		l.refused++
	} else {
		l.refused = 0
	}
	return wait, before
}

func (l *Limiter) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.last) > time.Minute
}

// Keyed has a Limiter for each key. The zero Keyed allows any number of events.
type Keyed struct {
	PerMinute int // of one key; 0 or less: any number

	mu sync.Mutex
	of map[string]*Limiter
}

// manyKeys is the number of kept limiters. When it is exceeded, limiters that have rested for a minute are dropped: their allowance
// is full. If there are none, all are dropped. So keys that a client chooses take bounded memory.
const manyKeys = 4096

// Take is Limiter.Take for a key.
func (k *Keyed) Take(key string, now time.Time) (wait time.Duration, before int) {
	return k.limiter(key, now).Take(now)
}

func (k *Keyed) limiter(key string, now time.Time) *Limiter {
	if k.PerMinute <= 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.of[key]
	if l == nil {
		if len(k.of) >= manyKeys {
			maps.DeleteFunc(k.of, func(_ string, l *Limiter) bool { return l.idle(now) })
			if len(k.of) >= manyKeys {
				clear(k.of)
			}
		}
		if k.of == nil {
			k.of = map[string]*Limiter{}
		}
		l = New(k.PerMinute)
		k.of[key] = l
	}
	return l
}
