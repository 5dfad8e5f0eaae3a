package limits

import (
	"maps"
	"sync"
	"time"
)

// Rate allows a number of events in any minute: the minute slides. An event above the limit gets the time to wait, and does not
// count. A nil *Rate has no limit. It may be used concurrently.
type Rate struct {
	most int

	mu      sync.Mutex
	born    time.Time       // times count from here, by the monotonic clock
	times   []time.Duration // of the events of the last minute, the oldest first, so they ascend
	refused int             // refused events in a row
}

// NewRate returns a Rate of perMinute events in any minute; nil if perMinute is not above 0.
func NewRate(perMinute int) *Rate {
	if perMinute <= 0 {
		return nil
	}
	return &Rate{most: perMinute}
}

// Take counts an event if it returns wait 0. Otherwise the event is above the limit, and may be tried again after wait. before is
// the number of events refused directly before it.
func (r *Rate) Take(now time.Time) (wait time.Duration, before int) {
	if r == nil {
		return 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if wait = r.wait(now); wait > 0 {
		return wait, r.refuse()
	}
	return 0, r.count(now)
}

// wait returns how long an event has to wait. It looks at an event once, when its minute is over. The callers of wait, count and
// refuse hold mu, or are alone.
func (r *Rate) wait(now time.Time) time.Duration {
	if r.born.IsZero() {
		r.born = now
	}
	at := now.Sub(r.born)
	for i := len(r.times) - 1; i >= 0 && r.times[i] > at; i-- { // the clock was set back
		r.times[i] = at
	}
	for len(r.times) > 0 && r.times[0] <= at-time.Minute {
		r.times = r.times[1:]
	}
	if over := len(r.times) + 1 - r.most; over > 0 {
		return r.times[over-1] + time.Minute - at
	}
	return 0
}

func (r *Rate) count(now time.Time) (before int) {
	r.times = append(r.times, now.Sub(r.born))
	before, r.refused = r.refused, 0
	return before
}

func (r *Rate) refuse() (before int) {
	r.refused++
	return r.refused - 1
}

// Keyed has a Rate for each key. The zero Keyed allows any number of events.
type Keyed struct {
	PerMinute int   // of one key; 0 or less: any number
	All       *Rate // of all keys together

	mu    sync.Mutex
	of    map[string]*Rate
	swept time.Time
}

// manyKeys is the number of kept rates. When it is exceeded, those without an event in the last minute are dropped. If there are
// none, all are dropped. So keys that a client chooses take bounded memory.
const manyKeys = 4096

// Take is Rate.Take for a key.
func (k *Keyed) Take(key string, now time.Time) (wait time.Duration, before int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait, before = k.rate(key, now, manyKeys).Take(now); wait > 0 {
		return wait, before
	}
	wait, others := k.All.Take(now)
	return wait, before + others
}

// rate returns the rate of a key, and makes space for it. The caller holds mu.
func (k *Keyed) rate(key string, now time.Time, most int) *Rate {
	r := k.of[key]
	if r != nil || k.PerMinute <= 0 {
		return r
	}
	if len(k.of) >= most || now.Sub(k.swept) > time.Minute {
		k.swept = now
		maps.DeleteFunc(k.of, func(_ string, r *Rate) bool {
			r.wait(now)
			return len(r.times) == 0
		})
	}
	if len(k.of) >= most {
		clear(k.of)
	}
	if k.of == nil {
		k.of = map[string]*Rate{}
	}
	r = &Rate{most: k.PerMinute, born: now}
	k.of[key] = r
	return r
}
