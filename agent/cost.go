package agent

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/session"
)

// bill is what requests used and cost. Every request is stored and counted in one session.
type bill struct {
	used     llm.Usage
	usd      float64
	unpriced bool // the price of some requests is not known
}

func (b bill) plus(o bill) bill {
	return bill{b.used.Add(o.used), b.usd + o.usd, b.unpriced || o.unpriced}
}

// tally is the bill of the counted requests of a session.
type tally struct {
	bill
	of     string
	n      int          // number of counted requests
	priced prices.Model // the model of the last request
	name   string       // the name of that model
}

// add counts the new requests of a session, each at the price of its model.
func (t *tally) add(st session.State) {
	if t.of != st.ID {
		*t = tally{of: st.ID}
	}
	for _, r := range st.Paid[t.n:] {
		if t.name != r.Model {
			t.name = r.Model
			t.priced, _ = prices.Lookup(r.Model)
		}
		usd, known := t.priced.Cost(r.Used)
		t.bill = t.plus(bill{r.Used, usd, !known})
	}
	t.n = len(st.Paid)
}

func billOf(st session.State) bill {
	var t tally
	t.add(st)
	return t.bill
}

// Spent returns what the conversation has used and cost. It includes earlier sessions of the chain, and requests that were
// rewound.
func (c *Conversation) Spent() Spent {
	st := c.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.add(st)
	b := c.before.plus(c.tally.bill)
	if b.used.IsZero() {
		b.unpriced = !c.a.model.Priced()
	}
	return Spent{Usage: b.used, USD: b.usd, Known: !b.unpriced}
}
