package replay

import (
	"github.com/stet-dev/stet/llm"
)

// Dollars is what the requests of a session cost: input, answers and thinking, at the
// prices of its model and with the cache that it used.
type Dollars struct {
	Without float64 `json:"without"` // Reported and Unreported, or, of a session through stet, the estimate
	With    float64 `json:"with"`    // Recalled and WrongGuess are in it

	// Reported is what was charged by the usage that is recorded. Unreported is an estimate of what
	// was charged besides: output that the recording shows beyond its usage, and requests without usage.
	Reported   float64 `json:"reported"`
	Unreported float64 `json:"unreported"`

	// Recalled is what it would have cost that the agent asks again for texts that its answers
	// repeat. WrongGuess is what the requests would have cost more at which the cache was taken
	// for dead and the recording shows that it was alive.
	Recalled   float64 `json:"recalled"`
	WrongGuess float64 `json:"wrong_guess"`

	// Estimated says that all of it, or a part of it, is computed from the texts. Otherwise the
	// provider reported the tokens that it charged for.
	Estimated bool `json:"estimated,omitempty"`
}

// Saved is what the session would have cost less.
func (d Dollars) Saved() float64 { return d.Without - d.With }

func (d *Dollars) add(o Dollars) {
	d.Without += o.Without
	d.With += o.With
	d.Reported += o.Reported
	d.Unreported += o.Unreported
	d.Recalled += o.Recalled
	d.WrongGuess += o.WrongGuess
	d.Estimated = d.Estimated || o.Estimated
}

// AnswerCost returns what the answers cost, thinking with them, in plain input tokens of the models that
// gave them: by the tokens that the provider reported, or else those of their texts.
func (r *Replay) AnswerCost() (cost float64) {
	for i := range r.Requests {
		price := float64(outputPrice)
		m, ok := r.lookup(r.Requests[i].Model)
		if !ok {
			m, ok = r.lookup(r.Session.Model)
		}
		if ok && m.USD.Input > 0 && m.USD.Output > 0 {
			price = m.USD.Output / m.USD.Input
		}
		n := r.answerTokens(i)
		if u := r.Usage(i); u != nil && u.Output > 0 {
			n = u.Output
		}
		cost += float64(n) * price
	}
	return cost
}

func (r *Replay) answerTokens(i int) (n int) {
	to := r.Requests[i].To
	for part := r.First[to]; part < r.First[to+1]; part++ {
		n += r.Counted(part)
	}
	return n
}

func (r *Replay) hasThinking() bool {
	for _, p := range r.Parts {
		if p.Kind == llm.Thinking {
			return true
		}
	}
	return false
}
