package history

import "github.com/stet-dev/stet/llm"

// Price is what a token costs that the provider's cache has, and one that is
// written to it, relative to a plain one. The zero Price is unknown: 0.1 and
// 1.25 are reckoned with, and nothing is risked on them.
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
	seen    int  // bytes of its messages, untouched
	left    int  // bytes left out of it
	cold    bool // it was sent at a moment when nothing was cached
	guessed bool // the last request was planned as one that finds nothing cached, and not answered yet
	first   int  // tokens of the first prompt; 0: not known
}

// often is after how many turns it is asked whether a break pays.
const often = 5

// price returns the factors to reckon with.
func (f *Fold) price() Price {
	if p := f.engine.config.Price; p != (Price{}) {
		return p
	}
	return Price{0.1, 1.25}
}

// request settles the account for a request made of all messages added, and
// decides whether it is a moment of its own: the window is nearly full, or
// what can leave pays for what is written again.
func (f *Fold) request() {
	a := &f.account
	if a.settled == f.n+1 || !f.engine.admits() {
		return
	}
	first := a.settled == 0
	p, was := f.price(), a.left
	a.balance += p.Saves(float64(was), float64(f.plan.Left-was), a.cold || first)
	if !a.cold && !first {
		f.warm()
	}
	a.settled, a.seen, a.left, a.cold = f.n+1, f.seen, f.plan.Left, false
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
func (f *Fold) Answered(u llm.Usage) {
	a := &f.account
	if a.guessed && u.CacheRead > a.first+a.first/3 {
		a.balance -= f.price().Wastes(float64(u.CacheWrite+u.Input) * bytesPerToken)
	}
	a.guessed = false
	if a.first == 0 && f.turns <= 1 {
		a.first = u.Prompt()
	}
}

// warm elides although the cache is alive, where that is due.
func (f *Fold) warm() {
	c, a := &f.engine.config, &f.account
	if a.balance < 0 || c.ChecksThinking {
		return
	}
	if full := c.Window * bytesPerToken; c.Pressure > 0 && full > 0 && float64(f.seen-f.plan.Left) > c.Pressure*float64(full) {
		if all := f.gains(); len(all) > 0 && all[len(all)-1].gain > full/10 {
			f.breakAt(all[len(all)-1])
			return
		}
	}
	if p := f.price(); !f.engine.risks() || p.Write > p.Read && f.turns%often != 0 {
		return
	}
	p, best := f.price(), chance{}
	worth := 0.0
	for _, g := range f.gains() {
		cost := p.Wastes(float64(g.behind))
		back := p.Read * float64(g.gain) * f.horizon()
		if cost <= a.balance && back > 2*cost && back-cost > worth {
			worth, best = back-cost, g
		}
	}
	if best.gain > 0 {
		f.breakAt(best)
	}
}

// horizon is how many more requests are reckoned with: half as many as there
// were, 30 at most.
func (f *Fold) horizon() float64 { return float64(min(f.turns/2, 30)) }

// chance is a break before a message: what leaves with it, and what stays
// behind it of the last request.
type chance struct{ message, gain, behind int }

// breakAt elides from a message on and pays for it.
func (f *Fold) breakAt(c chance) {
	p, was := f.price(), f.plan.Left
	f.elide(c.message, nil)
	f.account.balance += p.Saves(float64(f.plan.Left-was), 0, false) - p.Wastes(float64(c.behind))
}

// gains lists the breaks that there could be, the newest first: each takes
// with it all that can leave behind it.
func (f *Fold) gains() []chance {
	s := newSurvey(f, nil)
	var out []chance
	gain := 0
	for i := len(f.facts) - 1; i >= 0; i-- {
		fa := &f.facts[i]
		if fa.verdict.text != "" {
			s.pass(fa)
			continue
		}
		was := fa.verdict
		s.decide(i, fa)
		if fa.verdict.text != "" {
			gain += len(fa.text) - len(fa.verdict.text)
		}
		if fa.verdict.args != "" && was.args == "" {
			gain += len(fa.call.args) - len(fa.verdict.args)
		}
		if (fa.verdict.text != "" || fa.verdict.args != was.args) && fa.seen <= f.account.seen {
			behind := f.account.seen
			if !f.engine.config.Marked {
				behind += len(fa.text) + len(fa.call.args) - fa.seen
			}
			out = append(out, chance{min(fa.message, fa.call.at.message), gain, max(0, behind-gain)})
		}
		fa.verdict = was
	}
	return out
}
