package history

// A warm break: under bold, what was sent may leave though the provider's cache holds it. All
// that follows is then written to the cache again, which costs more than to read it. So a break
// is made only where it pays: what leaves is not read in any of the requests to come.
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
)

// considerBreak makes a warm break where it pays.
func (st *State) considerBreak() {
	c := &st.engine.config
	size := st.bytes - st.plan.Saved
	if c.Policy != Bold || c.ChecksThinking || c.NoBreaks || st.sent > 0 || size-st.weighed < weighEvery {
		return
	}
	st.weighed = size
	if st.account.balance < 0 {
		return
	}
	scan := newEvictionScan(st, nil)
	before := make([]eviction, len(st.results))
	leaves, from := 0, len(st.results)
	for i := len(st.results) - 1; i >= 0; i-- {
		res := &st.results[i]
		before[i] = res.eviction
		res.eviction = eviction{}
		scan.choose(i)
		scan.keepOut(res, before[i])
		if n := res.eviction.saved(res) - before[i].saved(res); n != 0 {
			leaves, from = leaves+n, i
		}
	}
	p, cost := st.price(), 0.
	if from < len(st.results) {
		cost = p.Wastes(float64(st.shownFrom(from) - leaves))
	}
	pays := p.Read * float64(leaves) * float64(st.turns) / payback
	if pays <= cost || cost > st.account.balance+risk*st.account.spent {
		for i := range before {
			st.results[i].eviction = before[i]
		}
		return
	}
	saved := st.plan.Saved
	st.plan.Breaks++
	st.planBy(scan)
	st.account.balance -= p.Wastes(float64(st.shownFrom(from)))
	st.account.omitted += st.plan.Saved - saved // it was sent before
	st.weighed = st.bytes - st.plan.Saved
}

// keepOut has what left a result and its call stay away, even if it would not leave now. At a
// warm break it would be written once more. A placeholder that names another text is
// chosen anew: that text may leave.
func (s *evictionScan) keepOut(res *toolResult, before eviction) {
	now := &res.eviction
	if now.text == "" && (before.why == Idle || before.why == Command) {
		now.text, now.why, now.paths = before.text, before.why, before.paths
	}
	if now.args == "" && !before.shown && before.why != Replaced {
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

// shownFrom is how many bytes the request has from the i-th result on.
func (st *State) shownFrom(i int) int {
	res := &st.results[i]
	bytes := st.bytes - (res.end - len(res.text))
	for j := range st.plan.Omissions {
		if o := &st.plan.Omissions[j]; o.Message >= res.at.Message {
			bytes -= o.Before - o.After
		}
	}
	return bytes
}
