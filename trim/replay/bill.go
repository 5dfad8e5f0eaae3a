package replay

import (
	"cmp"
	"context"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// The bill of a session in dollars.

// Billed is a charged answer with its price in dollars.
type Billed struct {
	Time       time.Time // zero: unknown
	Model, Dir string
	Kind       transcript.Kind
	Usage      llm.Usage // as it was reported; zero: not at all

	Priced     bool    // the price is known
	Family     string  // where the model is not known: the one whose cache rule is taken (prices.Model.Family)
	Reported   float64 // usage × price
	Unreported float64 // ≈: output that the file shows beyond the usage; the whole request if no usage is reported
	Saved      float64 // what it would have cost less under the policy, or, through stet, did

	key [16]byte // transcript.Answer.Key
}

// bill prices the answers of a session, without and with a policy of package trim. through is what stet left out
// of the requests of the answers when they were sent (Through.session). The dollars are nil if no price is known.
//
// The requests are sent once more, with the sizes that the provider reported. What was charged is on one side, and the
// difference gives the other.
func (r *Replay) bill(ctx context.Context, c trim.Config, through map[int]Passed) ([]Billed, *Dollars, Outcome, error) {
	c.ChecksThinking = prices.ChecksThinking(r.Session.Model) && r.hasThinking()
	model, known := r.lookup(r.Session.Model)
	c.Clears = known && model.ClearsResults()
	throughStet := through != nil
	policy, err := Ours(c)
	if err != nil {
		return nil, nil, Outcome{}, err
	}
	if m, ok := r.Reported(); ok && !throughStet {
		r.Measure = m
	}
	rule := Rule{Rule: r.OwnRule(prices.Rules()[0]), Recorded: true}
	off, err := r.Under(ctx, nil, []Rule{rule})
	if err != nil {
		return nil, nil, Outcome{}, err
	}
	with, err := r.Under(ctx, policy, []Rule{rule})
	if err != nil {
		return nil, nil, with, err
	}
	requests := make(map[int]int, len(r.Requests)) // by message
	for i := range r.Requests {
		requests[r.Requests[i].To] = i
	}
	var all []Billed
	var sum Dollars
	priced := false
	for i := range r.Session.Answers {
		a := &r.Session.Answers[i]
		request, replayed := requests[a.Message]
		if a.Usage.IsZero() && !replayed {
			continue // nothing says that it was charged
		}
		b := r.price(a)
		if b.Priced {
			p := r.rate(a, a.Usage.Prompt())
			b.Unreported = float64(r.hiddenOutput(a)) * p.output * p.usd
			sum.Estimated = sum.Estimated || a.Usage.IsZero()
		}
		if p, ok := through[i]; ok {
			m, _ := r.lookup(b.Model)
			_, b.Saved, _ = m.Bill(p.Usage, p.Whole)
		}
		if replayed && b.Priced && len(through) == 0 {
			before, after, asked := off.usd[request], with.usd[request], with.usdAsked[request]
			if a.Usage.IsZero() {
				b.Unreported = before
			}
			b.Saved = before - asked
			sum.Recalled += asked - after
			if with.wasCold[request] && r.shownAt(request).alive {
				sum.WrongGuess += max(0, after-before)
			}
		}
		priced = priced || b.Priced
		all = append(all, b)
	}
	sum.total(all, throughStet)
	if !priced {
		return all, nil, with, nil
	}
	return all, &sum, with, nil
}

// total adds up the answers.
func (d *Dollars) total(all []Billed, throughStet bool) {
	d.Reported, d.Unreported = 0, 0
	saved := 0.0
	for _, b := range all {
		d.Reported += b.Reported
		d.Unreported += b.Unreported
		saved += b.Saved
	}
	d.Without = d.Reported + d.Unreported
	d.With = d.Without - saved
	if throughStet {
		d.Without, d.With = d.Without+saved, d.Without
	}
}

// price prices an answer by its usage.
func (r *Replay) price(a *transcript.Answer) Billed {
	b := Billed{Time: a.Time, Model: cmp.Or(a.Model, r.Session.Model), Dir: a.Dir, Kind: a.Kind, Usage: a.Usage, key: a.Key}
	m, _ := r.lookup(b.Model)
	b.Family = m.Family
	b.Reported, b.Priced = m.Cost(a.Usage)
	return b
}

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

func (r *Replay) hasThinking() bool {
	for _, p := range r.Parts {
		if p.Kind == llm.Thinking {
			return true
		}
	}
	return false
}
