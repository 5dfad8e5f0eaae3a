package replay

import (
	"time"

	"github.com/stet-dev/stet/prices"
)

// simulator plays one provider's prompt cache for one conversation. The model
// of it: the longest prefix, in whole blocks, that was sent in an earlier
// request within the cache's lifetime is read; all the rest is written, for agents
// mark the end of what they send as the place to cache up to. What is
// read or written lives on from that moment. Minimum length, steps, number of
// breakpoints and lookback of the rule are played only if it is exact.
type simulator struct {
	rule  prices.Rule
	fixed int // tokens before the first block that are always in the cache
	exact bool

	sent bool
	last time.Time // until when the last request was in use; zero: unknown

	// Prefixes of earlier requests that are no prefix of the last one, and
	// until when they were in use. The last one's own are all of age last.
	old map[uint64]time.Time

	marked map[uint64]time.Time // exact: prefixes at whose end a breakpoint was, and until when in use
	end    int                  // exact: blocks of the last request
}

// bill is how the tokens of a request are billed.
type bill struct{ read, written, plain int }

// cost returns the price of b under the rule.
func (b bill) cost(r prices.Rule) float64 { return r.Cost(b.read, b.written, b.plain) }

// send bills a request that was sent at sent and answered at answered. Where
// a time is missing (zero) no time has passed. p must have been changed from the
// prompt of the send before by its own methods.
func (s *simulator) send(p *prompt, sent, answered time.Time) bill {
	if !s.rule.Cached() {
		return bill{plain: s.fixed + p.size()}
	}
	if s.exact && s.rule.Breakpoints > 0 {
		return s.sendMarked(p, sent, later(sent, answered))
	}
	hit := 0
	if s.sent {
		for _, h := range p.dropped {
			if s.old == nil {
				s.old = make(map[uint64]time.Time)
			}
			s.old[h] = s.last
		}
		if alive(s.last, sent, s.rule.Lifetime) {
			hit = p.kept
			for hit < len(p.chain) && s.found(p.chain[hit], sent) {
				hit++
			}
		} else {
			clear(s.old) // nothing is younger than the last request
		}
	}
	s.sent = true
	s.last = later(later(s.last, sent), answered)
	read := p.upTo(hit)
	if s.exact {
		return s.stepped(s.fixed+read, s.fixed+p.size())
	}
	return bill{read: s.fixed + read, written: p.size() - read}
}

func (s *simulator) found(prefix uint64, now time.Time) bool {
	at, ok := s.old[prefix]
	return ok && alive(at, now, s.rule.Lifetime)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
