package replay

import (
	"github.com/stet-dev/stet/replay/check"
)

// outputPrice is what a token of output costs, in plain input tokens. It is 4 to 8
// with most models.
const outputPrice = 5

// charge sends the requests of a session once more, with the calls by which the agent
// would have asked for texts again that were left out.
type charge struct {
	sender  *Sender
	rules   []Rule
	cost    map[string]float64
	leftOut map[int]bool // parts that were left out
	recalls int
}

func (r *Replay) newCharge(m *Measure, rules []Rule, caches []Cache) *charge {
	return &charge{sender: r.newSender(m, caches), rules: rules, cost: make(map[string]float64, len(rules)), leftOut: make(map[int]bool)}
}

// add sends request i, and once more for each part that its answer recalls.
func (c *charge) add(i int, omissions []check.Omission, recalled []check.Recall) {
	for _, o := range omissions {
		c.leftOut[o.Part] = true
	}
	c.bill(c.sender.Send(i, omissions), 0)
	for _, again := range recalled {
		c.recalls++
		c.bill(c.sender.Recall(i, again, omissions), recallCall*outputPrice)
	}
}

func (c *charge) bill(s Sent, output float64) {
	for n, rule := range c.rules {
		c.cost[rule.Name] += s.Bills[n].cost(rule.Rule) + output
	}
}
