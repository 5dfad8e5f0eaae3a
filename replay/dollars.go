package replay

import (
	"context"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
)

// Dollars is what the requests of a session cost: input, answers and thinking, at the
// prices of its model and with the cache that it used.
type Dollars struct {
	Without float64 `json:"without"`
	With    float64 `json:"with"` // Recalled and WrongGuess are in it

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
	d.Recalled += o.Recalled
	d.WrongGuess += o.WrongGuess
	d.Estimated = d.Estimated || o.Estimated
}

// dollars prices a session, without and with a policy of package history. The result is nil
// where the prices of its model are not known. throughStet says that the session was recorded
// while stet shortened its requests.
//
// The requests are sent once more, with the sizes that the provider reported. What was charged
// stands on one side, and the difference gives the other.
func (r *Replay) dollars(ctx context.Context, c history.Config, throughStet bool) (*Dollars, Outcome, error) {
	c.ChecksThinking = prices.ChecksThinking(r.Session.Model) && r.hasThinking()
	model, known := r.lookup(r.Session.Model)
	c.Clears = known && model.ClearsResults()
	policy, err := Ours(c)
	if err != nil {
		return nil, Outcome{}, err
	}
	charged, reported := r.charged()
	if m, ok := r.Reported(); ok && !throughStet {
		r.Measure = m
	}
	rule := Rule{Rule: r.OwnRule(prices.Rules()[0]), Recorded: true}
	off, err := r.Under(ctx, nil, []Rule{rule})
	if err != nil {
		return nil, Outcome{}, err
	}
	with, err := r.Under(ctx, policy, []Rule{rule})
	if err != nil || !known || !model.Priced() {
		return nil, with, err
	}
	perToken := model.USD.Input / 1e6
	saved := (off.Cost[rule.Name] - with.Charged[rule.Name]) * perToken
	d := Dollars{Without: charged, With: charged - saved, Estimated: !reported}
	switch {
	case !reported:
		d.Without = off.Cost[rule.Name]*perToken + float64(r.answers())*model.USD.Output/1e6
		d.With = d.Without - saved
	case throughStet:
		d.Without, d.With = charged+saved, charged
	}
	d.Recalled = (with.Charged[rule.Name] - with.Cost[rule.Name]) * perToken
	for i := range r.Requests {
		if with.wasCold[i] && r.shownAt(i).alive {
			d.WrongGuess += max(0, with.byRequest[i]-off.byRequest[i]) * perToken
		}
	}
	return &d, with, nil
}

// charged returns what the requests cost by the usage that the provider reported. It is false
// where fewer than four in five requests were reported; the others are taken to have cost as
// much on average. A request whose model is not known costs what the session's does.
func (r *Replay) charged() (usd float64, ok bool) {
	session, _ := r.lookup(r.Session.Model)
	n := 0
	for i := range r.Requests {
		u := r.Usage(i)
		if u == nil || u.Prompt() == 0 {
			continue
		}
		n++
		m, known := r.lookup(r.Requests[i].Model)
		if !known || !m.Priced() {
			m = session
		}
		cost, _ := m.Cost(*u)
		usd += cost
	}
	if n == 0 || 5*n < 4*len(r.Requests) {
		return 0, false
	}
	return usd * float64(len(r.Requests)) / float64(n), true
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

// answers returns the tokens of the answers, as they are recorded.
func (r *Replay) answers() (n int) {
	for i := range r.Requests {
		n += r.answerTokens(i)
	}
	return n
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
