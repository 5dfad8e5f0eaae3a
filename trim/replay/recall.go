package replay

import "github.com/stet-dev/stet/trim/replay/check"

// charge prices the requests of a session with the calls by which the agent would have asked for texts again that
// were left out. From the first of these calls on it sends the requests once more, by a sender of its own.
type charge struct {
	sender  *Sender // nil: nothing was recalled yet
	rules   []Rule
	cost    map[string]float64
	bill    [][]whole    // by rule and request
	leftOut map[int]bool // parts that were left out; true: the request shows their text nowhere else
	recalls int
}

func newCharge(rules []Rule) *charge {
	return &charge{rules: rules, cost: make(map[string]float64, len(rules)), bill: make([][]whole, len(rules)), leftOut: make(map[int]bool)}
}

// add prices request i, which sender has just sent, and sends it once more for each part that its answer recalls.
func (c *charge) add(i int, sender *Sender, sent Sent, omissions []check.Omission, recalled []int) {
	for n := range c.bill {
		c.bill[n] = append(c.bill[n], whole{})
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
		c.price(sent, sender.replay.rateOf(i, sent.Tokens), sender.replay.output(i), 0)
	}
	for _, again := range recalled {
		sent := c.sender.Recall(i, again, omissions)
		if counts {
			c.recalls++
			c.price(sent, sender.replay.rateOf(i, sent.Tokens), recallCall, recallCall*outputPrice)
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

// price adds a request. Its answer has output tokens in the bill, and costs asked in the cost of the input: only that of a
// call which recalls is in it.
func (c *charge) price(s Sent, p rate, output int, asked float64) {
	for n, rule := range c.rules {
		cost := s.Bills[n].cost(rule.Rule)
		c.cost[rule.Name] += cost + asked
		c.bill[n][len(c.bill[n])-1].add(p.whole(cost, output))
	}
}
