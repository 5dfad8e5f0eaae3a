package tokens

import (
	"cmp"
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Share is the total of all parts of one kind in messages of one role.
type Share struct {
	Role   llm.Role
	Kind   llm.Kind
	Parts  int
	Tokens int // with the tokens around the parts and their messages
}

// Shares divides messages by role and kind, in the order system, user,
// assistant, tool. The tokens of all shares are those of [CountMessages].
func Shares(messages []llm.Message, c Counter) []Share {
	var all []Share
	share := func(role llm.Role, kind llm.Kind) *Share {
		i := slices.IndexFunc(all, func(s Share) bool { return s.Role == role && s.Kind == kind })
		if i < 0 {
			i = len(all)
			all = append(all, Share{Role: role, Kind: kind})
		}
		return &all[i]
	}
	for i := range messages {
		m := &messages[i]
		if m.Local {
			continue
		}
		first := llm.Text
		for j := range m.Parts {
			p := &m.Parts[j]
			if j == 0 {
				first = p.Kind
			}
			s := share(m.Role, p.Kind)
			s.Parts++
			s.Tokens += CountPart(p, c)
		}
		share(m.Role, first).Tokens += perMessage
	}
	order := []llm.Role{llm.System, llm.User, llm.Assistant, llm.Tool}
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Role), slices.Index(order, b.Role)), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
