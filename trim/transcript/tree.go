package transcript

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Some agents write a tree of entries. Going back begins a new branch.

// entry is the data of a line.
type entry struct {
	id, parent string
	message    llm.Message
	start      bool       // the entry is a compaction, and message is the summary
	firstKept  string     // id of the first entry whose message the compaction kept
	own        *llm.Usage // of a request of the agent's own, for the summary in message
}

// newestBranch returns the entries from the root to the newest entry. If an entry's parent is missing, the previous entry
// is used instead: the parent's line was damaged, or the file has no tree. The answers in the other entries are billed, and
// the requests of the agent's own.
func (s *Session) newestBranch(entries []entry) []entry {
	index := map[string]int{}
	for i, e := range entries {
		if e.id != "" {
			index[e.id] = i
		}
	}
	var back []entry
	on := make([]bool, len(entries))
	for i := len(entries) - 1; i >= 0; {
		e := entries[i]
		back, on[i] = append(back, e), true
		if e.id != "" && e.parent == "" {
			break // it is a root
		}
		up, ok := index[e.parent]
		if !ok || up >= i {
			up = i - 1
		}
		i = up
	}
	slices.Reverse(back)
	model := ""
	for i, e := range entries {
		if e.message.Role == llm.Assistant {
			model = e.message.Model
		}
		if !on[i] {
			s.charge(Left, e.message)
		}
		if e.own != nil {
			s.charge(Compaction, llm.Message{Role: llm.Assistant, ID: e.id, Time: e.message.Time, Model: model, Usage: e.own})
		}
	}
	return back
}
