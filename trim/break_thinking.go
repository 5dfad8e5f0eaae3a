package trim

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

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
	first := slices.IndexFunc(st.thoughts.all, func(b thought) bool { return !b.left })
	price := st.breakPrice()
	bytes, weight := st.written(st.thoughts.all[first].at.Message)
	cost := price.Wastes(float64(bytes - leaves))
	gain := price.Read * float64(st.turns) / thinkingPayback * float64(leaves)
	if cost >= gain || !st.account.pay(cost, price.Wastes(float64(weight-leaves))) {
		return false
	}
	st.thoughts.leave(n)
	st.plan.Breaks++
	return true
}

// around is about how many bytes a message has besides its text: images, the names of tools, and what stands around calls and results.
func around(m *llm.Message) int {
	bare := llm.Message{Local: m.Local, Parts: make([]llm.Part, len(m.Parts))}
	for i := range m.Parts {
		p := &m.Parts[i]
		bare.Parts[i] = llm.Part{Kind: p.Kind, Name: p.Name, Raw: p.Raw}
	}
	return tokens.CountMessage(&bare, tokens.Estimate{}) * bytesPerToken
}
