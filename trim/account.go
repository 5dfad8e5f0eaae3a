package trim

import (
	"cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// Price is what a token costs that the provider's cache holds, and one that is
// written to it, relative to a plain one. The zero Price is unknown: then 0.1 and
// 1.25 are used.
type Price struct{ Read, Write float64 }

// Saves is what omissions save of the price of one request, as plain input in the
// unit of the arguments. (It is also what text costs.) before is text that was omitted, or sent, in the request
// before; fresh is text that is new. cold says that nothing of the request was cached.
func (p Price) Saves(before, fresh float64, cold bool) float64 {
	if cold {
		return p.Write * (before + fresh)
	}
	return p.Read*before + p.Write*fresh
}

// Wastes is what it costs to write text to the cache that would have been read
// from it.
func (p Price) Wastes(again float64) float64 { return (p.Write - p.Read) * again }

// weight is the estimated tokens of a text, each as bytesPerToken. Where thinking cannot leave it is the bytes.
//
// A break for thinking may cost all that was saved. What was saved is other text than what is written again, and a token has more
// bytes in one than in the other. Estimates are wrong too. So such a break must have been saved in bytes and by weight.
func (e *Engine) weight(text string) int {
	if !e.forgetsThinking() {
		return len(text)
	}
	return tokens.Estimate{}.Count(text) * bytesPerToken
}

// account is what omissions have saved so far, in plain input bytes, against the
// same requests untouched. While it is negative, nothing more is evicted.
type account struct {
	balance     float64
	spent       float64 // what the same requests cost untouched
	counted     int     // messages of the last request that was counted, plus 1
	size        int     // bytes of it, if nothing were left out
	omitted     int     // bytes left out of it
	weight      float64 // the balance by weight
	light       int     // what is left out weighs
	cold        bool    // the next request finds nothing cached
	unanswered  bool    // the last request was planned as one that finds nothing cached, and has no answer yet
	firstPrompt int     // tokens; 0: not known
}

func (st *State) price() Price { return cmp.Or(st.engine.config.Price, Price{0.1, 1.25}) }

// written is about how much is written again if a request changes at a message, in bytes and by weight: text, thinking, and what is around
// them.
func (st *State) written(message int) (bytes, weight int) {
	left, light := st.plan.leftFrom(message)
	bytes, weight = st.bytes-st.starts[message]-left, -light
	for i, n := range st.around[message:] {
		bytes, weight = bytes+n, weight+n+st.weights[message+i]
	}
	for i := range st.thoughts.all {
		if b := &st.thoughts.all[i]; !b.left && b.at.Message >= message {
			bytes, weight = bytes+b.weight, weight+b.weight
		}
	}
	return bytes, weight
}

// pay takes from the account what is written again without need, if so much was saved.
func (a *account) pay(cost, weight float64) bool {
	if cost > a.balance || weight > a.weight {
		return false
	}
	a.balance, a.weight = a.balance-cost, a.weight-weight
	return true
}

// countRequest adds to the account what a request made of all messages added
// saves. It is called for requests that were answered alone, so that the account depends on the
// messages and not on how often a plan was asked for.
func (st *State) countRequest() {
	a := &st.account
	if a.counted == st.messages+1 || !st.engine.deduplicates() {
		return
	}
	cold := a.cold || a.counted == 0
	a.spent += st.price().Saves(float64(a.size), float64(st.bytes-a.size), cold)
	a.balance += st.price().Saves(float64(a.omitted), float64(st.plan.Saved-a.omitted), cold)
	_, light := st.plan.leftFrom(0)
	a.weight += st.price().Saves(float64(a.light), float64(light-a.light), cold)
	a.counted, a.size, a.omitted, a.light, a.cold = st.messages+1, st.bytes, st.plan.Saved, light, false
}

// Answered tells the usage in the answer to the last request. Where that request was
// planned as one that finds nothing cached, and the cache was alive, the account
// pays for what was written again without need. The cache was alive if more was read
// from it than tools and system text, which other conversations may have put there.
// Their size is taken to be that of the first prompt, if Answered was told of that.
//
// Answered is for a caller that holds one conversation in one State, and calls it after
// every answer. A caller whose conversations fork keeps an account of its own with
// [Price.Saves] and [Price.Wastes].
func (st *State) Answered(u llm.Usage) {
	a := &st.account
	if a.unanswered && u.CacheRead > a.firstPrompt+a.firstPrompt/3 {
		cost := st.price().Wastes(float64(u.CacheWrite+u.Input) * bytesPerToken)
		a.balance, a.weight = a.balance-cost, a.weight-cost
	}
	a.unanswered = false
	if a.firstPrompt == 0 && st.turns <= 1 {
		a.firstPrompt = u.Prompt()
	}
}
