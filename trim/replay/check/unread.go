package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/transcript"
)

// Unread says how many reads of files by a tool have a result in a form that stet does not know. Nothing is left out of such a result when it
// is sent for the first time.
type Unread struct {
	Tool   string `json:"tool"`
	Reads  int    `json:"reads"`  // successful ones, except through a shell
	Unread int    `json:"unread"` // of these
}

// shortRead is how many bytes a result has at least to count.
const shortRead = 200

// UnreadTools returns the tools of a session with such reads, those with most of them first.
func UnreadTools(s *transcript.Session, table *dialect.Table) []Unread {
	rec := NewRecording(s)
	by := make(map[string]Unread)
	for i, p := range rec.Parts {
		call := rec.Call(i)
		if call == nil || p.Kind != llm.ToolResult || len(p.Text) < shortRead {
			continue
		}
		a := table.Action(call.Name, call.Args)
		if a.Op != dialect.Read || a.Command != "" {
			continue
		}
		r := table.Result(a, p.Text, p.IsError)
		if r.Failed {
			continue
		}
		u := by[call.Name]
		u.Tool = call.Name
		u.Reads++
		known := func(s dialect.Section) bool { return s.First > 0 || s.Failed || s.Unchanged || s.Dir }
		if !r.Unchanged && !slices.ContainsFunc(r.Sections, known) {
			u.Unread++
		}
		by[call.Name] = u
	}
	all := slices.DeleteFunc(slices.Collect(maps.Values(by)), func(u Unread) bool { return u.Unread == 0 })
	slices.SortFunc(all, func(a, b Unread) int { return cmp.Or(cmp.Compare(b.Unread, a.Unread), cmp.Compare(a.Tool, b.Tool)) })
	return all
}
