package trim

// A warm break for thinking alone is made under adaptive too. It takes nothing away that an agent could ask for again. So it may
// pay for itself later than other breaks. But it risks nothing: its price must have been saved before.

// thinkingPayback is payback of such a break: half of the turns so far.
const thinkingPayback = 2

// breaksForThinking has thinking of earlier turns leave where that pays though the provider's cache holds it. It reports whether it did.
func (st *State) breaksForThinking() bool {
	if !st.engine.forgetsThinking() || st.given != nil {
		return false
	}
	n, leaves := st.thoughts.leaving(0)
	if leaves < weighEvery {
		return false
	}
	first := st.thoughts.firstShown()
	price := st.breakPrice()
	cost := price.Wastes(float64(st.shownFrom(first) + st.thoughts.shownFrom(first) - leaves))
	gain := price.Read * float64(st.turns) / thinkingPayback * float64(leaves)
	if cost >= gain || cost > st.account.balance {
		return false
	}
	st.thoughts.leave(n)
	st.plan.Breaks++
	st.account.balance -= cost
	return true
}

// firstShown is the message of the first block of thinking that has not left.
func (t *thoughts) firstShown() int {
	for i := range t.all {
		if !t.all[i].left {
			return t.all[i].at.Message
		}
	}
	return 0
}
