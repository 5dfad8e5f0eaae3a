// Package ratelimit limits how often something may happen in a minute. The allowance
// comes back bit by bit: after a minute of rest all of it is there again.
//
// Who would be one too many is told how long to wait, and does not count.
package ratelimit

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter allows a number of events a minute. A nil *Limiter allows any number. It may
// be used concurrently.
type Limiter struct {
	mu      sync.Mutex
	rate    *rate.Limiter
	refused int // events in a row
	last    time.Time
}

// New returns a Limiter of so many events a minute; nil if that is not above 0.
func New(perMinute int) *Limiter {
	if perMinute <= 0 {
		return nil
	}
	return &Limiter{rate: rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)}
}

// Take counts an event, if wait is 0. Else it is one too many, and may come in wait.
// before is how many events right before it were too many.
func (l *Limiter) Take(now time.Time) (wait time.Duration, before int) { return l.TakeAll(now, 1) }

// TakeAll is Take for n events at once: all of them count, or none. n is not above what
// is allowed in a minute.
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

// manyKeys is how many limiters are kept. Beyond that, those are dropped that have
// rested for a minute: they have all of their allowance again. If there are none, all
// are dropped: so keys that a client chooses take no more memory.
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
