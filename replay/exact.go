package replay

import "time"

// sendMarked bills a request as a provider does that caches at breakpoints. An
// agent marks the end of its request and the end of the one before it, which
// stands in it; tools and system prompt have a mark of their own. From each mark
// the provider looks back so many blocks for a prefix that was marked before.
// What is found, and what is marked, lives on until used.
func (s *simulator) sendMarked(p *prompt, sent, used time.Time) bill {
	marks := []int{min(s.end, len(p.chain)), len(p.chain)}
	hit := 0
	for _, mark := range marks {
		for n := mark; n > hit && (s.rule.Lookback == 0 || n > mark-s.rule.Lookback); n-- {
			if at, ok := s.marked[p.chain[n-1]]; ok && alive(at, sent, s.rule.Lifetime) {
				hit = n
			}
		}
	}
	if s.marked == nil {
		s.marked = make(map[uint64]time.Time)
	}
	s.last = later(s.last, used)
	for _, mark := range append(marks, hit) {
		if mark > 0 && s.fixed+p.upTo(mark) >= s.rule.MinTokens {
			s.marked[p.chain[mark-1]] = s.last
		}
	}
	s.end = len(p.chain)
	if all := s.fixed + p.size(); all < s.rule.MinTokens {
		return bill{plain: all}
	}
	return bill{read: s.fixed + p.upTo(hit), written: p.size() - p.upTo(hit)}
}

// stepped bills a request of all tokens, the first of which are in a cache that
// gives out whole steps, and nothing below a least length.
func (s *simulator) stepped(read, all int) bill {
	if all < s.rule.MinTokens {
		return bill{plain: all}
	}
	if s.rule.Step > 1 {
		read -= read % s.rule.Step
	}
	if read < s.rule.MinTokens {
		read = 0
	}
	return bill{read: read, written: all - read}
}
