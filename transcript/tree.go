package transcript

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Some agents write a tree of entries: going back begins another branch.

// entry is what is kept of a line.
type entry struct {
	id, parent string
	message    llm.Message
	start      bool   // a compaction; message is the summary
	firstKept  string // the entry from which a compaction kept the messages
}

// newestBranch returns the entries from the root to the newest. An entry whose
// parent is not there follows the one before it: the line was damaged, or the
// file has no tree.
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
			break // a root
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
