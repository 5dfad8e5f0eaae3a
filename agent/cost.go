package agent

import (
	"context"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/session"
)

// bill is what requests used and cost. Every request is stored and counted in one session. A request of a task is in the
// session of the task.
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

// Spent returns what the conversation has used and cost. It includes earlier sessions of the chain, tasks, and requests
// that were rewound.
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

// billOfTasks returns the bill of the tasks of a session. It includes compactions and tasks of these tasks.
func billOfTasks(ctx context.Context, store session.Store, id string) (bill, error) {
	var all bill
	seen := map[string]bool{id: true}
	for left := []string{id}; len(left) > 0; left = left[1:] {
		from, err := store.List(ctx, session.Query{Parent: left[0]})
		if err != nil {
			return all, err
		}
		for _, s := range from {
			goesOn := s.From.Relation == session.Compacted && left[0] != id
			if seen[s.ID] || s.From.Relation != session.Started && !goesOn {
				continue
			}
			ses, err := session.Resume(ctx, store, s.ID)
			if err != nil {
				return all, err
			}
			all = all.plus(billOf(ses.State()))
			seen[s.ID] = true
			left = append(left, s.ID)
		}
	}
	return all, nil
}
