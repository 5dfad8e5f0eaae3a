package replay

import (
	"cmp"

	"github.com/stet-dev/stet/trim/transcript"
)

// What a request costs whole: its input under a cache's rule, with what a long prompt costs more, and its answer. The
// bench and the bill in dollars both go by it.

// outputPrice is what a token of output costs, in plain input tokens, where the model's price is not known. It is 4 to 8
// with most models.
const outputPrice = 5

// rate is what tokens cost in a request, in plain input tokens of its model with a short prompt.
type rate struct {
	input, output float64 // input is 1, or more if the prompt is past the model's limit
	usd           float64 // of a plain input token with a short prompt; 0: unknown, or free
}

// rate returns what tokens cost in the request of an answer, with a prompt of so many.
func (r *Replay) rate(a *transcript.Answer, prompt int) rate {
	m, _ := r.lookup(cmp.Or(a.Model, r.Session.Model))
	usual, _ := m.At(a.Usage, 0)
	p, _ := m.At(a.Usage, prompt)
	if usual.Input == 0 {
		usual, p = m.USD, m.USD // the proportions of another model's prices, or nothing
	}
	out := rate{input: 1, output: outputPrice}
	if usual.Input > 0 {
		out.input = p.Input / usual.Input
		if out.output *= out.input; p.Output > 0 {
			out.output = p.Output / usual.Input
		}
	}
	if m.Priced() {
		out.usd = usual.Input / 1e6
	}
	return out
}

// whole is what a request costs whole.
type whole struct{ tokens, usd float64 } // tokens: plain input tokens; usd is 0 if the price is not known

func (w *whole) add(o whole) { w.tokens, w.usd = w.tokens+o.tokens, w.usd+o.usd }

// whole returns what a request costs whose input costs so much by a cache's rule, and whose answer has so many tokens.
func (p rate) whole(input float64, output int) whole {
	tokens := input*p.input + float64(output)*p.output
	return whole{tokens, tokens * p.usd}
}

// rateOf returns what tokens cost in request i, with a prompt of so many. It is zero if the request is billed with another session.
func (r *Replay) rateOf(i, prompt int) rate {
	at, ok := r.answers[r.Requests[i].To]
	if !ok {
		return rate{}
	}
	return r.rate(&r.Session.Answers[at], prompt)
}

// output returns about how many tokens the answer to request i was charged for, thinking with them.
func (r *Replay) output(i int) int {
	at, ok := r.answers[r.Requests[i].To]
	if !ok {
		return 0
	}
	a := &r.Session.Answers[at]
	return a.Usage.Output + r.hiddenOutput(a)
}

// hiddenOutput returns about how many tokens of an answer are not in its usage. The usage that was at the start of the
// stream has less than half of the tokens that the answer shows.
func (r *Replay) hiddenOutput(a *transcript.Answer) int {
	n := 0
	for i := range a.Parts {
		n += r.count(&a.Parts[i])
	}
	switch {
	case a.Usage.IsZero():
		return n
	case r.Session.HidesOutput && n > 2*a.Usage.Output:
		return n - a.Usage.Output
	}
	return 0
}

// AnswerCost returns what the answers cost, thinking with them, in plain input tokens of the models that gave them.
func (r *Replay) AnswerCost() (cost float64) {
	for i := range r.Requests {
		cost += r.rateOf(i, reportedSize(r, i)).whole(0, r.output(i)).tokens
	}
	return cost
}
