// Package diff compares two texts line by line. [Lines] returns the changes as data. [Diff.Unified] writes them as a unified diff
// that git and patch apply. [Parse] reads such a diff.
//
// A line includes its end, so a line that ends in CRLF differs from one that ends in LF. Work is bounded: the diff of very
// different texts is correct, but may be longer than necessary.
package diff

import "strings"

// Options says how much to show.
type Options struct {
	// Context is the number of unchanged lines around a change: 3 for 0,
	// none for -1.
	Context int
}

// Diff has the changes. The zero Diff is for equal texts. Its lines are parts of the compared texts and keep them in memory.
type Diff struct {
	Hunks          []Hunk
	Added, Removed int // lines
}

// Hunk is a run of changes with context around it. Starts count from 1; where
// a side has no lines, its start is the number of the line before the hunk.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Lines              []Line
}

// Line is a line of a hunk. Text includes the line end; only the last line of a text may have none.
type Line struct {
	Kind Kind
	Text string
}

// Kind is the sign before a line in a unified diff.
type Kind byte

// Kinds of lines. In a run of changes, removed lines come first.
const (
	Same    Kind = ' '
	Added   Kind = '+'
	Removed Kind = '-'
)

// Lines compares two texts.
func Lines(before, after string, o Options) Diff {
	if before == after {
		return Diff{}
	}
	context := o.Context
	switch {
	case context == 0:
		context = 3
	case context < 0:
		context = 0
	}
	numbers := map[string]int32{}
	a, b := split(before, numbers), split(after, numbers)
	aligner := Aligner{Work: MaxWork}
	changes := aligner.Align(a.numbers, b.numbers, len(numbers))
	return hunks(a.lines, b.lines, changes, context)
}

// text is a text in lines, and their numbers: the same for equal lines.
type text struct {
	lines   []string
	numbers []int32
}

func split(s string, numbers map[string]int32) text {
	n := strings.Count(s, "\n") + 1
	t := text{make([]string, 0, n), make([]int32, 0, n)}
	for line := range strings.Lines(s) {
		number, ok := numbers[line]
		if !ok {
			number = int32(len(numbers))
			numbers[line] = number
		}
		t.lines = append(t.lines, line)
		t.numbers = append(t.numbers, number)
	}
	return t
}

// hunks joins changes that are near each other, and adds context.
func hunks(a, b []string, changes []Change, context int) Diff {
	var d Diff
	for i := 0; i < len(changes); {
		last := i
		for last+1 < len(changes) && changes[last+1].A0-changes[last].A1 <= 2*context {
			last++
		}
		before := min(context, changes[i].A0)
		after := min(context, len(a)-changes[last].A1)
		h := Hunk{OldStart: changes[i].A0 - before, NewStart: changes[i].B0 - before}
		h.OldLines = changes[last].A1 + after - h.OldStart
		h.NewLines = changes[last].B1 + after - h.NewStart
		added := 0
		for _, c := range changes[i : last+1] {
			added += c.B1 - c.B0
		}
		h.Lines = make([]Line, 0, h.OldLines+added)
		at := h.OldStart
		for _, c := range changes[i : last+1] {
			h.add(Same, a[at:c.A0])
			h.add(Removed, a[c.A0:c.A1])
			h.add(Added, b[c.B0:c.B1])
			d.Removed += c.A1 - c.A0
			at = c.A1
		}
		h.add(Same, a[at:at+after])
		d.Added += added
		if h.OldLines > 0 {
			h.OldStart++
		}
		if h.NewLines > 0 {
			h.NewStart++
		}
		d.Hunks = append(d.Hunks, h)
		i = last + 1
	}
	return d
}

func (h *Hunk) add(k Kind, lines []string) {
	for _, line := range lines {
		h.Lines = append(h.Lines, Line{k, line})
	}
}
