package web

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Hunk is a run of changes in a file, with what stands around it. Starts count
// from 1.
type Hunk struct {
	OldStart int    `json:"old_start"`
	NewStart int    `json:"new_start"`
	Lines    []Line `json:"lines"`
}

// Line is a line of a hunk.
type Line struct {
	Kind string `json:"kind"` // " " (as it was), "+" or "-"
	Text string `json:"text"` // with its end, if it has one
}

// FileDiff is what changes in one file.
type FileDiff struct {
	Path  string `json:"path"` // as the diff writes it; "" where the diff does not say
	Hunks []Hunk `json:"hunks"`
}

// noNewline follows a line of a unified diff that has no end.
const noNewline = `\ No newline at end of file`

var errDiff = errors.New("the diff is not one")

// parseDiff reads a unified diff of any number of files.
func parseDiff(text string) ([]FileDiff, error) {
	var all []FileDiff
	lines := slices.Collect(strings.Lines(text))
	for i := 0; i < len(lines); {
		switch line := lines[i]; {
		case strings.HasPrefix(line, "@@ "):
			if len(all) == 0 {
				all = append(all, FileDiff{})
			}
			hunk, n, err := parseHunk(lines[i:])
			if err != nil {
				return nil, err
			}
			f := &all[len(all)-1]
			f.Hunks = append(f.Hunks, hunk)
			i += n
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			all = append(all, FileDiff{Path: diffPath(line, lines[i+1])})
			i += 2
		default: // words around it
			i++
		}
	}
	return all, nil
}

// diffPath is the file that a diff's header names.
func diffPath(before, after string) string {
	name := func(s string) string {
		s = strings.TrimRight(s[len("--- "):], "\r\n\t")
		if q, err := strconv.Unquote(s); err == nil {
			s = q
		}
		if s == "/dev/null" {
			return ""
		}
		if _, rest, ok := strings.Cut(s, "/"); ok && (s[0] == 'a' || s[0] == 'b') && s[1] == '/' {
			return rest
		}
		return s
	}
	if n := name(after); n != "" {
		return n
	}
	return name(before)
}

// parseHunk reads the hunk that lines begin with, and returns how many lines it
// takes.
func parseHunk(lines []string) (Hunk, int, error) {
	var old, new [2]int
	fields := strings.Fields(lines[0])
	if len(fields) < 4 || !span(fields[1], '-', &old) || !span(fields[2], '+', &new) {
		return Hunk{}, 0, errDiff
	}
	h := Hunk{OldStart: old[0], NewStart: new[0], Lines: []Line{}}
	i := 1
	for ; i < len(lines) && (old[1] > 0 || new[1] > 0); i++ {
		kind, text := lines[i][:1], lines[i][1:]
		switch kind {
		case " ":
			old[1]--
			new[1]--
		case "-":
			old[1]--
		case "+":
			new[1]--
		default:
			return Hunk{}, 0, errDiff
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], noNewline) {
			text = strings.TrimSuffix(text, "\n")
			i++
		}
		h.Lines = append(h.Lines, Line{kind, text})
	}
	if old[1] != 0 || new[1] != 0 {
		return Hunk{}, 0, errDiff
	}
	return h, i, nil
}

// span reads "-12,3".
func span(s string, sign byte, into *[2]int) bool {
	if s == "" || s[0] != sign {
		return false
	}
	start, count, counted := strings.Cut(s[1:], ",")
	n, err := strconv.Atoi(start)
	if err != nil || n < 0 {
		return false
	}
	*into = [2]int{n, 1}
	if counted {
		if into[1], err = strconv.Atoi(count); err != nil || into[1] < 0 {
			return false
		}
	}
	return true
}

// keep is the text after a change of which only the hunks of those numbers are
// made: all others are as they were before. after is the text with all of them.
func keep(after string, hunks []Hunk, kept []int) (string, error) {
	for _, k := range kept {
		if k < 0 || k >= len(hunks) {
			return "", fmt.Errorf("there is no change %d", k)
		}
	}
	lines := slices.Collect(strings.Lines(after))
	var b strings.Builder
	at := 0
	for n, h := range hunks {
		start := h.NewStart - 1
		if h.count("-") == len(h.Lines) { // a hunk without lines after it starts behind the line before
			start = h.NewStart
		}
		if start < at || start > len(lines) {
			return "", errDiff
		}
		b.WriteString(strings.Join(lines[at:start], ""))
		at = start
		for _, l := range h.Lines {
			if l.Kind != "-" {
				if at >= len(lines) || lines[at] != l.Text {
					return "", errDiff
				}
				at++
			}
			if made := slices.Contains(kept, n); l.Kind == " " || made == (l.Kind == "+") {
				b.WriteString(l.Text)
			}
		}
	}
	b.WriteString(strings.Join(lines[at:], ""))
	return b.String(), nil
}

// count is how many of the hunk's lines are of a kind.
func (h Hunk) count(kind string) int {
	n := 0
	for _, l := range h.Lines {
		if l.Kind == kind {
			n++
		}
	}
	return n
}
