package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/tool"
)

// kept returns the text with only some of the question's hunks applied. (An answer with Keep.)
func (q Question) kept(hunks []int) ([]byte, error) {
	files := q.Diff.Files
	switch {
	case len(files) != 1 || !q.Editable:
		return nil, errors.New("this cannot be approved in parts")
	case len(hunks) == 0:
		return nil, errors.New("no change is chosen: reject it instead")
	}
	text, err := keep(string(q.Content), files[0].Hunks, hunks)
	if err != nil {
		return nil, fmt.Errorf("this cannot be approved in parts: %w", err)
	}
	return []byte(text), nil
}

// Texts returns the text of the question's file before and after, for a person who edits it. before is "" if it is not known.
func (q Question) Texts() (before, after string, err error) {
	if !q.Editable {
		return "", "", errNotEditable
	}
	after = string(q.Content)
	if files := q.Diff.Files; len(files) == 1 {
		before, _ = keep(after, files[0].Hunks, nil) // otherwise it is not known
	}
	return before, after, nil
}

// errOtherText says that the diff does not lead to the text next to it.
var errOtherText = errors.New("the diff is of another text")

// keep returns the text with only the chosen hunks applied: all other lines are as before. after is the text with all hunks
// applied.
func keep(after string, hunks []tool.Hunk, kept []int) (string, error) {
	for _, k := range kept {
		if k < 0 || k >= len(hunks) {
			return "", fmt.Errorf("there is no change %d", k)
		}
	}
	lines := slices.Collect(strings.Lines(after))
	var b strings.Builder
	at := 0 // the next line of after
	for n, h := range hunks {
		start := h.NewStart
		if h.NewLines > 0 { // otherwise it is the line before the hunk
			start--
		}
		if start < at || start > len(lines) {
			return "", errOtherText
		}
		b.WriteString(strings.Join(lines[at:start], ""))
		at = start
		made := slices.Contains(kept, n)
		for _, l := range h.Lines {
			if l.Kind != '-' {
				if at >= len(lines) || lines[at] != l.Text {
					return "", errOtherText
				}
				at++
			}
			if l.Kind == ' ' || made == (l.Kind == '+') {
				b.WriteString(l.Text)
			}
		}
	}
	b.WriteString(strings.Join(lines[at:], ""))
	return b.String(), nil
}
