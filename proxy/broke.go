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

// broke returns what of the request before is not what it was, and rewritten
// whether it is our own doing.
func (s *sent) broke(before *sent) (what string, at int, rewritten bool) {
	switch {
	case before == nil:
		return "", 0, false
	case before.model != s.model:
		what = record.BrokeModel
	case before.tools != s.tools:
		what = record.BrokeTools
	case before.system != s.system || before.skip != s.skip:
		what = record.BrokeSystem
	}
	common := 0
	for common < min(len(before.links), len(s.links)) && before.links[common] == s.links[common] {
		common++
	}
	edited := s.edited(before, s.skip+common)
	rewritten = edited < s.skip+common
	switch {
	case what != "":
		return what, 0, rewritten
	case rewritten:
		return record.BrokeMessage, edited, true
	case common < len(before.links) && common < len(s.links):
		return record.BrokeMessage, s.skip + common, false
	case common == len(before.links) && len(before.marks) > 0 && !s.finds(before):
		return record.BrokeMarker, 0, false
	}
	return "", 0, false
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
// from it, finds what one of the request before had stored.
func (s *sent) finds(before *sent) bool {
	return slices.ContainsFunc(s.marks, func(m llm.Breakpoint) bool {
		return slices.ContainsFunc(before.marks, func(b llm.Breakpoint) bool {
			return b.Blocks <= m.Blocks && m.Blocks-b.Blocks < lookback
		})
	})
}
