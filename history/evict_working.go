package history

// An output that shows lines of a file that the agent works on is not evicted: an
// edit may need them. This file finds such outputs.

import (
	"slices"
	"strings"
)

// minTelling is how many bytes a line must have to tell which file it is of.
const minTelling = 16

// worksOn lists the files that the agent works on: those that it changed, and has touched
// not long ago.
func (s *evictionScan) worksOn() []string {
	var out []string
	for key := range s.changed {
		if !s.idle(key, 1) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// showsWork reports whether an output shows more of a file that the agent works on than
// stands elsewhere: beside a line of the file, one that no passage in view has. Edits may
// still be made from it.
func (s *evictionScan) showsWork(res *toolResult) bool {
	if len(s.working) == 0 {
		return false
	}
	before := inOther // of the line before
	for line := range strings.Lines(res.text) {
		line = strings.TrimSuffix(line, "\n")
		now := s.standing(line)
		if of := withoutNumber(line); now == nowhere && of != "" {
			now = s.standing(of)
		}
		if before == inWork && now == nowhere || before == nowhere && now == inWork {
			return true
		}
		before = now
	}
	return false
}

// standing says where a line stands beside the output that is looked at.
type standing uint8

const (
	inOther standing = iota // in a passage of another file, or it is too short to say
	inWork                  // in a passage of a file that the agent works on
	nowhere
)

func (s *evictionScan) standing(line string) standing {
	if len(strings.TrimSpace(line)) < minTelling {
		return inOther
	}
	out := nowhere
	for i := range s.st.ledger.places(line) {
		key := s.st.ledger.passages[i].file.key
		if _, ok := slices.BinarySearch(s.working, key); ok {
			return inWork
		}
		if key != outputs {
			out = inOther
		}
	}
	return out
}

// withoutNumber returns the line of a file that a search or a tool shows behind the
// number of the line and, where it has one, the name of the file; "" where there is
// no number.
func withoutNumber(line string) string {
	for i := 0; i < len(line) && i < 300; i++ {
		if line[i] < '0' || line[i] > '9' || i > 0 && !strings.ContainsRune(":- \t", rune(line[i-1])) {
			continue
		}
		end := i
		for end < len(line) && line[end] >= '0' && line[end] <= '9' {
			end++
		}
		if end < len(line) && strings.IndexByte(":-\t|", line[end]) >= 0 {
			return line[end+1:]
		}
		i = end
	}
	return ""
}
