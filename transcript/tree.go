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
	start      bool   // the entry is a compaction, and message is the summary
	firstKept  string // id of the first entry whose message the compaction kept
}

// newestBranch returns the entries from the root to the newest entry. If an entry's parent is missing, the previous entry
// is used instead: the parent's line was damaged, or the file has no tree.
func newestBranch(entries []entry) []entry {
	index := map[string]int{}
	for i, e := range entries {
		if e.id != "" {
			index[e.id] = i
		}
	}
	var back []entry
	for i := len(entries) - 1; i >= 0; {
		e := entries[i]
		back = append(back, e)
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
	return back
}
