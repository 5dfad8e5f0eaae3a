package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// FileDiff has the changes of one file.
type FileDiff struct {
	Path  string `json:"path"`
	Hunks []Hunk `json:"hunks"`
}

// Hunk is a run of changes in a file, with context. Starts count from 1.
type Hunk struct {
	OldStart int    `json:"old_start"`
	NewStart int    `json:"new_start"`
	Lines    []Line `json:"lines"`
}

// Line is a line of a hunk.
type Line struct {
	Kind string `json:"kind"` // " " (unchanged), "+" or "-"
	Text string `json:"text"` // with its end, if it has one
}

// diffOf returns the change of a question. If there is no diff because the current content is not text, the new text is shown as
// added.
func diffOf(q approval.Question) []FileDiff {
	all := []FileDiff{}
	if q.Outside() {
		return all
	}
	for _, f := range q.Diff.Files {
		out := FileDiff{Path: f.Path}
		for _, h := range f.Hunks {
			lines := make([]Line, len(h.Lines))
			for i, l := range h.Lines {
				lines[i] = Line{string(l.Kind), l.Text}
			}
			out.Hunks = append(out.Hunks, Hunk{h.OldStart, h.NewStart, lines})
		}
		all = append(all, out)
	}
	if q.Diff.Empty() && len(q.Content) > 0 && utf8.Valid(q.Content) {
		h := Hunk{OldStart: 0, NewStart: 1}
		for line := range strings.Lines(string(q.Content)) {
			h.Lines = append(h.Lines, Line{"+", line})
		}
		all = append(all, FileDiff{q.Path, []Hunk{h}})
	}
	return all
}

// errOtherText says that the diff does not lead to the text beside it.
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
