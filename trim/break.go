package trim

import (
	"cmp"
	"math"

	"github.com/stet-dev/stet/llm"
)

// A warm break: under bold, what was sent may leave though the provider's cache holds it. All
// that follows is then written to the cache again, which costs more than to read it. So a break
// is made only where it pays: what leaves is not read in any of the requests to come. Where thinking
// is checked, the provider clears what leaves (see clear.go).
//
// A break depends on the messages and the cold points alone, as the plan does. It is decided
// behind a message of the model. So the request that this message belongs to is the
// first that differs, and all later ones are like it up to there.

const (
	// weighEvery is after how many more bytes of the request a break is considered again: a
	// scan is work.
	weighEvery = 20 << 10

	// payback is the part of the turns so far in which a break must pay for itself: a tenth.
	// A session that has gone on for so long mostly goes on for as long again, but the
	// smaller the part, the less is lost where it ends.
	payback = 10

	// risk is the part of what the conversation has cost so far that a break may cost
	// beyond what was saved. So no session becomes dearer by more than this because of breaks,
	// whenever it ends.
	risk = 0.02

	// evictedAgain is the chance that a result is needed again which the rules of eviction let leave. In recorded sessions
	// 76 of 2,696 were, under bold.
	evictedAgain = 0.03
)

// considerBreak makes a warm break where it pays.
func (st *State) considerBreak() {
	c := &st.engine.config
	if c.NoBreaks || st.breaksForThinking() {
		return
	}
	size := st.bytes - st.plan.Saved
	clears := st.engine.Clears()
	if c.Policy != Bold || c.ChecksThinking && !clears || size-st.weighed < weighEvery {
		return
	}
	st.weighed = size
	if st.account.balance < 0 || st.given != nil {
		return
	}
	scan := newEvictionScan(st, 0)
	if clears {
		scan.chooseAll()
		st.clear(scan, true)
		return
	}
	price := st.breakPrice()
	before := make([]eviction, len(st.results))
	leaves, from, recalls := 0, st.messages, 0.
	for i := len(st.results) - 1; i >= 0; i-- {
		res := &st.results[i]
		before[i] = res.eviction
		res.eviction = eviction{}
		scan.choose(i)
		scan.keepOut(res, before[i])
		n := res.eviction.saved(res) - before[i].saved(res)
		if n != 0 {
			leaves, from = leaves+n, res.call.at.Message
		}
		if n > 0 {
			recalls += evictedAgain * st.recallCost(price, float64(n))
		}
	}
	gain := st.savesEach(price, true)*float64(leaves) - recalls
	if gain > price.Wastes(float64(st.shownFrom(from)-leaves)) {
		// The plan tells what the break costs: what stays may have named as its source what leaves, and is sent whole again; and other
		// placeholders may change, further up.
		plan, ledger := st.plan, st.ledger
		st.planBy(scan, 0)
		if st.paysBreak(&plan, math.Inf(1)) {
			return
		}
		st.plan, st.ledger = plan, ledger
	}
	for i := range before {
		st.results[i].eviction = before[i]
	}
}

// dearest is the price of a cache that lives for an hour.
var dearest = Price{0.1, 2}

// breakPrice is the price by which a warm break is judged. Where none is known, it is the one by which a break costs most. (Where
// thinking is checked, a proxy tells none: it plans alike for all models and lifetimes.)
func (st *State) breakPrice() Price { return cmp.Or(st.engine.config.Price, dearest) }

// paysBreak reports whether a break pays that gains so much, in plain input bytes, and may be risked. Then the account pays
// for it. before is the plan without the break.
func (st *State) paysBreak(before *Plan, gain float64) bool {
	leaves := st.plan.Saved - before.Saved
	if leaves <= 0 {
		return false
	}
	cost := st.breakPrice().Wastes(float64(st.shownFrom(firstChange(before.Edits, st.plan.Edits))))
	if cost >= gain || cost > st.account.balance+risk*st.account.spent {
		return false
	}
	st.plan.Breaks++
	a := &st.account
	a.balance, a.weight = a.balance-cost, a.weight-cost
	a.omitted += leaves // it was sent before
	_, a.light = st.plan.leftFrom(0)
	st.weighed = st.bytes - st.plan.Saved
	return true
}

// firstChange is the first message that two plans send otherwise. They must not be the same.
func firstChange(a, b []llm.Edit) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a):
		return b[i].Message
	case i == len(b):
		return a[i].Message
	}
	return min(a[i].Message, b[i].Message)
}

// keepOut has what left a result and its call stay away, even if it would not leave now. At a
// warm break it would be written once more. A placeholder that names another text is
// chosen again: that text may leave.
func (s *evictionScan) keepOut(res *toolResult, before eviction) {
	now := &res.eviction
	if now.text == "" && (before.why == Idle || before.why == Command) {
		now.text, now.why, now.paths = before.text, before.why, before.paths
	}
	if now.args == "" && !before.shown {
		now.args, now.paths = before.args, before.paths
	}
}

// saved is how many bytes are left out of a result and of the arguments of its call.
func (e *eviction) saved(res *toolResult) (bytes int) {
	if e.text != "" {
		bytes += len(res.text) - len(e.text)
	}
	if e.args != "" && !e.shown {
		bytes += len(res.call.args) - len(e.args)
	}
	return bytes
}

// shownFrom is how many bytes the request has from a message on.
func (st *State) shownFrom(message int) int {
	left, _ := st.plan.leftFrom(message)
	return st.bytes - st.starts[message] - left
}

// leftFrom is how much is left out from a message on, in bytes and by weight.
func (p *Plan) leftFrom(message int) (bytes, weight int) {
	for i := range p.Omissions {
		if o := &p.Omissions[i]; o.Message >= message {
			bytes, weight = bytes+o.Before-o.After, weight+o.Weight
		}
	}
	return bytes, weight
}
