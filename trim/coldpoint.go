package trim

import (
	"slices"
	"time"
)

// Point is a cold point of a conversation: the provider's cache holds nothing of the
// first After messages, so they may be planned again. What follows them is not taken
// into account.
type Point struct {
	After int // messages
	Why   Cause
}

// Cause says why there is a cold point.
type Cause string

// The causes of cold points.
const (
	Gap        Cause = "gap"        // more time has passed than the cache lives
	Guess      Cause = "guess"      // the same, but only one earlier pause showed how long it lives
	Model      Cause = "model"      // another model is asked
	Tools      Cause = "tools"      // tools or system text are others
	Resume     Cause = "resume"     // a stored session goes on
	Compaction Cause = "compaction" // the agent began a new context
)

// Ended has the two shortest pauses after which a conversation's cache was gone; 0: none.
type Ended [2]time.Duration

// Add notes a pause after which the cache was gone.
func (e *Ended) Add(pause time.Duration) {
	switch {
	case e[0] == 0 || pause < e[0]:
		e[0], e[1] = pause, e[0]
	case e[1] == 0 || pause < e[1]:
		e[1] = pause
	}
}

// After says what a pause means where a provider vouches for no lifetime: a Gap if the cache has ended twice after such a pause or
// a shorter one, a Guess if once, "" if never.
func (e *Ended) After(pause time.Duration) Cause {
	switch {
	case e[1] > 0 && pause >= e[1]:
		return Gap
	case e[0] > 0 && pause >= e[0]:
		return Guess
	}
	return ""
}

// PartRef names a part of a message: a result, or a call and its arguments.
type PartRef struct{ Message, Part int }

// KeepWhole says that the first n messages always stay as they are. It counts for messages that are not added yet.
func (st *State) KeepWhole(n int) { st.whole = n }

// Cold says that the messages added so far are about to be sent at a cold point.
// Earlier decisions may change, but for those on the first keep messages. It is called before Plan. Off and
// KeepLatest have no use for it.
func (st *State) Cold(why Cause, keep int) {
	if !st.engine.deduplicates() {
		return
	}
	st.account.cold, st.account.unanswered = true, true
	if st.account.balance < 0 {
		return
	}
	if why == Guess {
		st.guess(keep)
		return
	}
	st.evictAll(keep)
}

// evictAll evicts what may leave, thinking of earlier turns with it.
func (st *State) evictAll(keep int) {
	if st.engine.forgetsThinking() {
		n, _ := st.thoughts.leaving(keep)
		st.thoughts.leave(n)
	}
	if c := &st.engine.config; c.ChecksThinking && !c.Clears && len(st.thoughts.all) > 0 {
		return // nothing else that was sent may change
	}
	st.evict(keep)
}

// guess evicts at a cold point that is a guess. If the cache is alive, all that follows the first change is written again. So nothing
// leaves if that would cost more than the conversation has saved so far, and the account pays for it at once.
func (st *State) guess(keep int) {
	st.account.cold, st.account.unanswered = false, false
	before := *st
	before.results, before.thoughts.all = slices.Clone(st.results), slices.Clone(st.thoughts.all)
	sent := st.Plan().Seen().Edits
	st.evictAll(keep)
	now := st.Plan().Seen().Edits
	if slices.Equal(sent, now) {
		return
	}
	bytes, weight := st.written(firstChange(sent, now))
	if !st.account.pay(st.price().Wastes(float64(bytes)), st.price().Wastes(float64(weight))) {
		*st = before
	}
}
