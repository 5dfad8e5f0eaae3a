package history

import (
	"slices"
	"strings"
)

// telling is how many bytes a line must have to tell which file it is of.
const telling = 16

// works lists the files that the agent works on: those that it changed, and
// has touched not long ago.
func (s *survey) works(edited map[string]bool) []string {
	var out []string
	for key := range edited {
		if !s.idle(key, 1) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// active reports whether an output shows more of a file that the agent works on
// than stands elsewhere: beside a line of the file, one that no text in view has.
// Edits may yet be made from it.
func (s *survey) active(fa *fact) bool {
	if len(s.working) == 0 {
		return false
	}
	was := elsewhere // of the line before
	for line := range strings.Lines(fa.text) {
		line = strings.TrimSuffix(line, "\n")
		now := s.stand(line)
		if of := found(line); now == nowhere && of != "" {
			now = s.stand(of)
		}
		if was == worked && now == nowhere || was == nowhere && now == worked {
			return true
		}
		was = now
	}
	return false
}

// standing says where a line stands beside the output that is looked at.
type standing uint8

const (
	elsewhere standing = iota // in a text of a file, or it is too short to say
	worked                    // in a text of a file that the agent works on
	nowhere
)

// stand tells where a line stands.
func (s *survey) stand(line string) standing {
	if len(strings.TrimSpace(line)) < telling {
		return elsewhere
	}
	out := nowhere
	for i := range s.f.ledger.places(line) {
		key := s.f.ledger.texts[i].file.path
		if _, ok := slices.BinarySearch(s.working, key); ok {
			return worked
		}
		if key != outputs {
			out = elsewhere
		}
	}
	return out
}

// found returns the line of a file that a search or a tool shows behind the
// line's number and, where it does, the name of the file; "" where there is no
// number.
func found(line string) string {
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
