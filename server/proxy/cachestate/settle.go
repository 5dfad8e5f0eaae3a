package cachestate

import (
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// Answer is the answer to a request, with the data for its account.
type Answer struct {
	Time      time.Time // time of its end
	Usage     record.Usage
	Compared  Comparison
	Omissions []trim.Omission // omissions of the plan
	Price     trim.Price
	MinTokens int // shortest prompt, in tokens, that the model's provider caches
}

// Settle compares the verdict with the usage in the answer. It reports whether the cache was warm although the request was judged
// cold, and returns the turns to store.
func (s *State) Settle(w *Pending, a Answer) (turns []record.Turn, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := w.verdict.at.lineage
	alive = w.charge(a)
	l.answered(w.verdict.at.key, a.Time)
	w.turn.Time, w.turn.Account = l.last, l.account
	return w.Turns(), alive
}

// charge updates the lineage's account with the provider's counts. Unknown values count as the worse case. (The engine has a
// separate account: see trim.State.Answered.) The caller holds the lock.
func (w *Pending) charge(a Answer) (alive bool) {
	if a.Usage.Prompt() == 0 {
		return false
	}
	l, belief, cold := w.verdict.at.lineage, w.verdict.Cache, w.verdict.New != ""
	seen := w.sight(a)
	again, uncached := a.rewritten(), false
	switch late := belief.Idle > belief.Lifetime; {
	case seen == shownAlive:
		alive = cold
		l.survived.Tools = l.survived.Tools || belief.Changed.Tools
		l.survived.System = l.survived.System || belief.Changed.System
		if late {
			l.lifetime = max(l.lifetime, belief.Idle)
		}
	case seen == shownCold, belief.Cold:
		if late && !belief.Certain {
			l.ended.Add(belief.Idle)
		}
		again, uncached = 0, cold
	}
	evicted := 0 // in bytes
	for _, o := range a.Omissions {
		if o.Reason.Evicts() {
			evicted += o.Before - o.After
		}
	}
	scale := min(a.scale(), 10./36)
	l.account += int(a.Price.Saves(float64(evicted)*scale, 0, uncached) - a.Price.Wastes(again))
	w.snapshot.prompt = a.Usage.Prompt()
	return alive
}

// sight is what an answer shows of the cache.
type sight uint8

const (
	shownNothing sight = iota // the same amount would have been read in any case
	shownAlive                // the conversation was in the cache
	shownCold
)

// sight judges by the tokens that were read from the cache. Tools and system text may be cached because of other conversations. If
// our own change begins soon after them, or no marker leads to the kept part, no more tokens are read from a warm cache. The caller
// holds the lock.
func (w *Pending) sight(a Answer) sight {
	own, kept := a.scale()*float64(a.Compared.preamble), a.scale()*float64(a.Compared.kept)
	others := own + own/3 + 512 // upper bound of tokens that are read because of other conversations
	sure := kept > 2*others
	if a.Compared.again && w.verdict.at.before.prompt > 0 {
		whole := float64(w.verdict.at.before.prompt) // tokens of the kept part, as the provider counted
		if said := kept - own; said > 1024 {
			kept, sure, others = whole, true, whole-said/2
		}
	}
	switch read := float64(a.Usage.CacheRead); {
	case read > others:
		return shownAlive
	case sure && a.Compared.findable && kept > float64(a.MinTokens):
		return shownCold
	}
	return shownNothing
}

// scale returns the tokens of one byte, as the provider counted.
func (a *Answer) scale() float64 {
	return float64(a.Usage.Prompt()) / float64(max(1, a.Compared.all))
}

// rewritten returns how many cached tokens were written again if the cache was warm: they were sent in another way, or no marker
// leads to them any more.
func (a *Answer) rewritten() float64 {
	c := &a.Compared
	fresh, lost := a.scale()*float64(c.all-c.common), c.common-c.kept
	if lost > 0 && !c.findable {
		lost = c.common
	}
	return max(0, min(a.scale()*float64(lost), float64(a.Usage.Prompt()-a.Usage.CacheRead)-fresh))
}
