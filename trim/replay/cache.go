package replay

import (
	"time"

	"github.com/stet-dev/stet/llm/prices"
)

// Cache simulates one provider's prompt cache for one conversation. A request
// reads the longest prefix, in whole blocks, that an earlier request held within
// the cache's lifetime. All the rest is written, since agents mark the end of what
// they send as the point up to which to cache. What is read or written lives on from
// then. Least length, steps, breakpoints and lookback of the rule count only if
// the cache is exact.
type Cache struct {
	Rule     prices.Rule
	Exact    bool
	Recorded bool // it is alive where the usage in the recording says so; see Rule

	fixed int       // tokens before the first block, which are always in the cache
	sent  bool      // a request was sent
	last  time.Time // until when the last request was in use; zero: unknown

	// Prefixes of earlier requests that the last one did not hold, and until when
	// they were in use. Those of the last request are all of age last.
	old map[uint64]time.Time

	marked map[uint64]time.Time // exact: prefixes that ended at a breakpoint, and until when in use
	end    int                  // exact: blocks of the last request
}

// Bill is how the tokens of a request are billed.
type Bill struct{ Read, Written, Plain int }

// cost returns the price of b under the rule.
func (b Bill) cost(r prices.Rule) float64 { return r.Cost(b.Read, b.Written, b.Plain) }

// send bills a request that was sent at sent and answered at answered. Where
// a time is missing (zero) no time has passed.
func (c *Cache) send(p *prompt, sent, answered time.Time) Bill {
	return c.sendWithin(p, sent, answered, c.fixed, len(p.chain))
}

// sendWithin is send, where no more is read than so many tokens of tools and system text, and the first blocks.
func (c *Cache) sendWithin(p *prompt, sent, answered time.Time, fixed, blocks int) Bill {
	if !c.Rule.Cached() {
		return Bill{Plain: c.fixed + p.size()}
	}
	if c.Exact && c.Rule.Breakpoints > 0 {
		return c.sendMarked(p, sent, later(sent, answered))
	}
	hit := 0
	if c.sent {
		for _, h := range p.dropped {
			if c.old == nil {
				c.old = make(map[uint64]time.Time)
			}
			c.old[h] = c.last
		}
		if alive(c.last, sent, c.Rule.Lifetime) {
			hit = p.kept
			for hit < len(p.chain) && c.found(p.chain[hit], sent) {
				hit++
			}
		} else {
			clear(c.old) // nothing is younger than the last request
		}
	}
	c.sent = true
	c.last = later(later(c.last, sent), answered)
	read := fixed + p.upTo(min(hit, blocks))
	if c.Exact {
		return c.stepped(read, c.fixed+p.size())
	}
	return Bill{Read: read, Written: c.fixed + p.size() - read}
}

func (c *Cache) found(prefix uint64, now time.Time) bool {
	at, ok := c.old[prefix]
	return ok && alive(at, now, c.Rule.Lifetime)
}

// alive reports whether what was last in use at a time is in a cache now. Where a
// time is missing (zero) no time has passed.
func alive(at, now time.Time, lifetime time.Duration) bool {
	return pauseBetween(at, now) <= lifetime
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sendMarked bills a request as a provider does that caches at breakpointc. An
// agent marks the end of its request and the end of the one before it, which
// is in it; tools and system prompt have a mark of their own. From each mark
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
