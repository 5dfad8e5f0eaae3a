package proxy

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// lookback is how many parts before a marker the provider looks for what an
// earlier one had stored.
const lookback = 20

// keep takes from edits what tells them from others.
func (s *sent) keep(edits []llm.Edit) {
	for _, e := range edits {
		s.hashes = append(s.hashes, xxh3.HashString(e.Text))
		s.edits = append(s.edits, llm.Edit{Message: e.Message, Part: e.Part})
	}
}

// change is what a request, as it went out, has of the one before it.
type change struct {
	what     string // as record.Cache.Broke
	at       int    // as record.Cache.BrokeAt
	kept     int    // messages that begin both and were sent the same way
	common   int    // messages that begin both; from kept on we sent them in another way
	findable bool   // the provider finds the end of what was kept, if its cache has it
}

// since returns what of the request before is not what it was. parts counts those
// of the first messages of s.
func (s *sent) since(before *sent, parts func(messages int) int) change {
	var c change
	switch {
	case before == nil:
		return c
	case before.model != s.model:
		c.what = record.BrokeModel
		return c
	case before.tools != s.tools:
		c.what = record.BrokeTools
	case before.system != s.system || before.skip != s.skip:
		c.what = record.BrokeSystem
	}
	common := s.shares(before)
	c.common = s.skip + common
	c.kept = s.edited(before, c.common)
	whole := common == len(before.links)
	c.findable = len(before.marks) == 0 || s.finds(before, parts(c.kept))
	switch {
	case c.what != "":
	case c.kept < c.common:
		c.what, c.at = record.BrokeMessage, c.kept
	case !whole && common < len(s.links):
		c.what, c.at = record.BrokeMessage, c.common
	case whole && !c.findable:
		c.what = record.BrokeMarker
	}
	return c
}

// shares counts the links that s and before, which may be nil, begin with alike.
func (s *sent) shares(before *sent) int {
	n := 0
	for before != nil && n < min(len(before.links), len(s.links)) && before.links[n] == s.links[n] {
		n++
	}
	return n
}

// edited is the first message, of the first limit, whose edits are others than
// before; limit if there is none.
func (s *sent) edited(before *sent, limit int) int {
	for i := 0; ; i++ {
		a, b := s.edit(i), before.edit(i)
		if a == b && a.message < limit {
			continue
		}
		return min(limit, a.message, b.message)
	}
}

type edit struct {
	message, part int
	hash          uint64
}

// edit is the i-th edit; behind the last one, that of a message there is not.
func (s *sent) edit(i int) edit {
	if i >= len(s.edits) {
		return edit{message: int(^uint(0) >> 1)}
	}
	return edit{s.edits[i].Message, s.edits[i].Part, s.hashes[i]}
}

// finds reports whether some marker stands where the provider, looking back
// from it, finds what one of the request before had stored of its first parts.
func (s *sent) finds(before *sent, parts int) bool {
	return slices.ContainsFunc(s.marks, func(m llm.Breakpoint) bool {
		return slices.ContainsFunc(before.marks, func(b llm.Breakpoint) bool {
			return b.Blocks <= min(m.Blocks, parts) && m.Blocks-b.Blocks < lookback
		})
	})
}
