package history

import "github.com/stet-dev/stet/llm"

// Price is what a token costs that the provider's cache has, and one that is
// written to it, relative to a plain one. The zero Price is unknown: 0.1 and
// 1.25 are reckoned with.
type Price struct{ Read, Write float64 }

// Saves is what leaving something out saves of the price of one request: text
// that was left out before, or was sent before, and text that is new. cold says
// that nothing of the request was cached. In the unit of its arguments, as plain
// input.
func (p Price) Saves(before, fresh float64, cold bool) float64 {
	if cold {
		return p.Write * (before + fresh)
	}
	return p.Read*before + p.Write*fresh
}

// Wastes is what it costs that something is written to the cache which would
// have been read from it.
func (p Price) Wastes(again float64) float64 { return (p.Write - p.Read) * again }

// account is what eliding has saved so far, in plain input bytes, against the
// same requests untouched. Where it is negative, nothing more is elided.
type account struct {
	balance float64
	settled int  // messages of the last request, plus 1
	left    int  // bytes left out of it
	cold    bool // it was sent at a moment when nothing was cached
	guessed bool // the last request was planned as one that finds nothing cached, and not answered yet
	first   int  // tokens of the first prompt; 0: not known
}

// price returns the factors to reckon with.
func (f *State) price() Price {
	if p := f.engine.config.Price; p != (Price{}) {
		return p
	}
	return Price{0.1, 1.25}
}

// request settles the account for a request made of all messages added.
func (f *State) request() {
	a := &f.account
	if a.settled == f.n+1 || !f.engine.admits() {
		return
	}
	cold := a.cold || a.settled == 0
	a.balance += f.price().Saves(float64(a.left), float64(f.plan.Saved-a.left), cold)
	a.settled, a.left, a.cold = f.n+1, f.plan.Saved, false
}

// Answered tells what the provider says that the last request used. Where it
// was planned as one that finds nothing cached, and the cache was alive, the
// account pays for what was written again without need. It was alive if more was
// read of it than tools and system text, which may be there because of others:
// they are about the first prompt, if Answered was told of that.
//
// It is for those who hold one conversation in one fold, and call it after every
// answer. Package proxy does not: its conversations fork and outlive it, and it
// knows the bytes of every request. It keeps an account of its own, by the same
// prices (see [Price.Saves], [Price.Wastes]).
func (f *State) Answered(u llm.Usage) {
	a := &f.account
	if a.guessed && u.CacheRead > a.first+a.first/3 {
		a.balance -= f.price().Wastes(float64(u.CacheWrite+u.Input) * bytesPerToken)
	}
	a.guessed = false
	if a.first == 0 && f.turns <= 1 {
		a.first = u.Prompt()
	}
}
