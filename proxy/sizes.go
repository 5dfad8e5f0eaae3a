package proxy

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// sizes are those of a request's beginnings as it went out, in bytes of text.
type sizes struct {
	preamble int // tools and leading system text
	kept     int // up to change.kept, the preamble at least
	common   int // up to change.common, kept at least
	all      int
}

// toolsSize is how many bytes of text a request's tools are, without those deferred.
func toolsSize(req *llm.Request) (n int) {
	for i := range req.Tools {
		tool := &req.Tools[i]
		if tool.Deferred {
			continue
		}
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return n
}

// textSize is how many bytes of text a message is. Thinking does not count: agents drop it.
func textSize(m *llm.Message) (n int) {
	for i := range m.Parts {
		part := &m.Parts[i]
		if part.Kind == llm.Thinking || m.Role == llm.System && volatile(part.Text) {
			continue
		}
		n += len(part.Text) + len(part.Name) + len(part.Args)
	}
	return n
}

// sizesOf measures a request of which it is known what it has of the one before.
func sizesOf(d *reading) sizes {
	messages := d.request.Messages
	ends := make([]int, len(messages)+1) // ends[i] is the size up to message i
	ends[0] = toolsSize(d.request)
	for i := range messages {
		ends[i+1] = textSize(&messages[i])
	}
	for i, e := range d.sent.edits { // those of the plan, in its order
		ends[e.Message+1] -= d.plan.Omissions[i].Before - d.plan.Omissions[i].After
	}
	for i := range messages {
		ends[i+1] += ends[i]
	}
	s := sizes{preamble: ends[d.chain.skip], all: ends[len(messages)]}
	s.kept = max(s.preamble, ends[d.since.kept])
	s.common = max(s.kept, ends[d.since.common])
	return s
}

// scale is how many tokens a byte has, as the provider counted.
func (s sizes) scale(u record.Usage) float64 { return float64(u.Prompt()) / float64(max(1, s.all)) }

// sight is what an answer shows of the provider's cache.
type sight uint8

const (
	unseen sight = iota // it would have read as much, or as little, in any case
	alive               // the conversation was in it
	cold
)

// others is how many tokens are read because of other conversations at most.
func (s sizes) others(u record.Usage) float64 {
	own := s.scale(u) * float64(s.preamble)
	return own + own/3 + 512
}

// seen judges by what was read from the cache. Tools and system text may be in it
// because of others; and where our own change begins soon behind them, or no
// marker leads to what was kept, not more is read of a cache that is alive. whole
// is how many tokens the kept beginning has as the provider counted, 0 if it did not.
func (s sizes) seen(u record.Usage, whole, shortest int, findable bool) sight {
	own, kept := s.scale(u)*float64(s.preamble), s.scale(u)*float64(s.kept)
	others := s.others(u)
	sure := kept > 2*others
	if said := kept - own; whole > 0 && said > 1024 {
		kept, sure = float64(whole), true
		others = kept - said/2
	}
	switch read := float64(u.CacheRead); {
	case read > others:
		return alive
	case sure && findable && kept > float64(shortest):
		return cold
	}
	return unseen
}

// rewritten is how many tokens were written to the cache that had been there, in
// another way or where no marker leads to them any more, if it was alive.
func (s sizes) rewritten(u record.Usage, findable bool) float64 {
	fresh, lost := s.scale(u)*float64(s.all-s.common), s.common-s.kept
	if lost > 0 && !findable {
		lost = s.common
	}
	return max(0, min(s.scale(u)*float64(lost), float64(u.Prompt()-u.CacheRead)-fresh))
}
