package proxy

import (
	"slices"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

// fold plans the request, from where the fold of the one before ended if it
// saw the same.
func (p *Proxy) fold(d *reading, engine *history.Engine) *history.Plan {
	messages, breaks := d.request.Messages, d.breaks
	f, seen := p.recent.take(d.base, engine)
	if f != nil && f.Len() <= d.same && goesOn(messages, f.Len(), breaks, seen) {
		breaks = breaks[len(seen):]
	} else {
		f = engine.NewState()
	}
	f.Grow(messages, breaks)
	plan := f.Plan()
	f.Log(plan)
	p.recent.give(d.now, held{f, engine, d.breaks})
	return plan
}

// goesOn reports whether a fold of the first n messages, planned there at the breaks
// seen, is what it were if it had not been planned there: a fold takes it that a
// request was made where the model answers, and only there.
func goesOn(messages []llm.Message, n int, breaks, seen []history.Point) bool {
	switch {
	case n < len(messages) && messages[n].Role != llm.Assistant:
		return false
	case len(seen) > len(breaks) || !slices.Equal(seen, breaks[:len(seen)]):
		return false
	}
	return !slices.ContainsFunc(breaks[len(seen):], func(b history.Point) bool { return b.After <= n || b.Why.Binds() && b.From < n })
}
