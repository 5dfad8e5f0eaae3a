package replay

import (
	"github.com/stet-dev/stet/trim/replay/check"
)

// outputPrice is what a token of output costs, in plain input tokens. It is 4 to 8
// with most models.
const outputPrice = 5

// charge prices the requests of a session with the calls by which the agent would have asked for texts again that
// were left out. From the first of these calls on it sends the requests once more, by a sender of its own.
type charge struct {
	sender  *Sender // nil: nothing was recalled yet
	rules   []Rule
	cost    map[string]float64
	by      [][]float64  // by rule and request: the cost
	leftOut map[int]bool // parts that were left out; true: the request shows their text nowhere else
	recalls int
}

func newCharge(rules []Rule) *charge {
	return &charge{rules: rules, cost: make(map[string]float64, len(rules)), by: make([][]float64, len(rules)), leftOut: make(map[int]bool)}
}

// add prices request i, which sender has just sent, and sends it once more for each part that its answer recalls.
func (c *charge) add(i int, sender *Sender, sent Sent, omissions []check.Omission, recalled []int) {
	for n := range c.by {
		c.by[n] = append(c.by[n], 0)
	}
	counts := sender.replay.billed(i)
	for _, o := range omissions {
		if !counts {
			break
		}
		c.leftOut[o.Part] = c.leftOut[o.Part] || !o.Pointer
	}
	if c.sender != nil {
		sent = c.sender.Send(i, omissions)
	} else if len(recalled) > 0 {
		c.sender = sender.clone()
	}
	if counts {
		c.bill(sent, 0)
	}
	for _, again := range recalled {
		sent := c.sender.Recall(i, again, omissions)
		if counts {
			c.recalls++
			c.bill(sent, recallCall*outputPrice)
		}
	}
}

// unshown returns how many parts were left out whose text the request showed nowhere else.
func (c *charge) unshown() (n int) {
	for _, unshown := range c.leftOut {
		if unshown {
			n++
		}
	}
	return n
}

func (c *charge) bill(s Sent, output float64) {
	for n, rule := range c.rules {
		cost := s.Bills[n].cost(rule.Rule) + output
		c.cost[rule.Name] += cost
		c.by[n][len(c.by[n])-1] += cost
	}
}
