package edit

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Reason is why an edit cannot be made.
type Reason int

// Reasons. For NotFound, Near may have similar places.
const (
	NotFound  Reason = iota
	Ambiguous        // Lines has the lines of the matches
	Overlap          // with edit Other; Lines has the line of the later edit
	EmptyOld
	NoChange // the new text equals the old one
)

// Error says which edit cannot be made and why. Edits count from 0 in the
// fields and from 1 in the message.
type Error struct {
	Edit, Other int
	Reason      Reason
	Lines       []int // counted from 1, ascending, each once
	Matches     int   // may be more than Lines: several matches in one line
	More        bool  // there are more matches than counted
	Near        []Near
}

// Near is a place similar to an old text that was not found: the first line that differs.
type Near struct {
	Line int    // counted from 1
	Text string // the line without its end, cut to 200 bytes
	Want string // the line of the old text, cut in the same way
	Why  string // what differs, in a few words
}

// differing quotes the line and the old text so that they do not look alike.
func (n Near) differing() string {
	if norm.NFKC.String(n.Text) == norm.NFKC.String(n.Want) {
		return fmt.Sprintf("%+q, not %+q", n.Text, n.Want)
	}
	return fmt.Sprintf("%q, not %q", n.Text, n.Want)
}

// Error returns a message for the author of the edit. It quotes the file's text.
func (e *Error) Error() string {
	s := "edit " + strconv.Itoa(e.Edit+1) + ": "
	switch e.Reason {
	case EmptyOld:
		return s + "the old text is empty"
	case NoChange:
		return s + "old and new text are the same"
	case Overlap:
		return s + fmt.Sprintf("overlaps edit %d in line %d", e.Other+1, e.Lines[0])
	case Ambiguous:
		more := ""
		if e.More {
			more = "more than "
		}
		return s + fmt.Sprintf("the old text occurs %s%d times, in %s; give more of the text around it", more, e.Matches, numbered(e.Lines))
	}
	s += "the old text is not in the file"
	for i, n := range e.Near {
		if i == 0 {
			s += "; near: "
		} else {
			s += "; "
		}
		s += fmt.Sprintf("line %d (%s)", n.Line, n.Why)
		if n.Text != "" && n.Text != n.Want {
			s += ": " + n.differing()
		}
	}
	return s
}

func numbered(lines []int) string {
	words := make([]string, len(lines))
	for i, n := range lines {
		words[i] = strconv.Itoa(n)
	}
	if len(words) == 1 {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words, ", ")
}
