package replay

import "time"

// sendMarked bills a request as a provider does that caches at breakpointc. An
// agent marks the end of its request and the end of the one before it, which
// stands in it; tools and system prompt have a mark of their own. From each mark
// the provider looks back so many blocks for a prefix that was marked before.
// What is found, and what is marked, lives on until used.
func (c *Cache) sendMarked(p *prompt, sent, used time.Time) Bill {
	marks := []int{min(c.end, len(p.chain)), len(p.chain)}
	hit := 0
	for _, mark := range marks {
		for n := mark; n > hit && (c.Rule.Lookback == 0 || n > mark-c.Rule.Lookback); n-- {
			if at, ok := c.marked[p.chain[n-1]]; ok && alive(at, sent, c.Rule.Lifetime) {
				hit = n
			}
		}
	}
	if c.marked == nil {
		c.marked = make(map[uint64]time.Time)
	}
	c.last = later(c.last, used)
	for _, mark := range append(marks, hit) {
		if mark > 0 && c.fixed+p.upTo(mark) >= c.Rule.MinTokens {
			c.marked[p.chain[mark-1]] = c.last
		}
	}
	c.end = len(p.chain)
	if all := c.fixed + p.size(); all < c.Rule.MinTokens {
		return Bill{Plain: all}
	}
	return Bill{Read: c.fixed + p.upTo(hit), Written: p.size() - p.upTo(hit)}
}

// stepped bills a request of all tokens. The first of them are in a cache that
// gives out whole steps, and nothing below a least length.
func (c *Cache) stepped(read, all int) Bill {
	if all < c.Rule.MinTokens {
		return Bill{Plain: all}
	}
	if c.Rule.Step > 1 {
		read -= read % c.Rule.Step
	}
	if read < c.Rule.MinTokens {
		read = 0
	}
	return Bill{Read: read, Written: all - read}
}
