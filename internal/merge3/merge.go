// Package merge3 merges two changes of one text, line by line, with git's semantics: a clean merge of `git merge-file` gives the
// same text here, and a conflict is a conflict here.
//
// Changes that overlap or touch are a conflict, unless both sides made the same change. A conflict is reduced to the lines in which
// the sides differ. Conflicts with at most three lines between them, or with no letter or digit between them, become one. Line ends
// are part of a line.
//
// Work is bounded. A comparison that would take seconds (megabytes of few different lines, shuffled) stops early. Then all lines
// between the first and the last difference of the two sides are one conflict.
package merge3

import (
	"strings"

	"github.com/stet-dev/stet/internal/diff"
)

// Options has the names after the conflict markers, without line ends.
type Options struct {
	Ours, Theirs string
}

// Result is a merged text. Text has conflict markers if Conflicts > 0; markers end like the lines around them. Hunks are in
// ascending order. A change that both sides made is in no hunk.
type Result struct {
	Text      string
	Conflicts int
	Hunks     []Hunk
}

// Kind says which side made the change of a hunk.
type Kind int

// A conflict is shown with both sides, any other hunk is taken from one.
const (
	Conflict Kind = iota
	Ours
	Theirs
	same Kind = -1 // a conflict without a difference; it separates its neighbours
)

// Hunk is a part of the texts that at least one side changed. If a conflict was reduced, Base is still the whole part that the
// sides changed, and all hunks made from that conflict have the same Base.
type Hunk struct {
	Kind               Kind
	Base, Ours, Theirs Range
	Merged             Range // in Result.Text, with the markers
}

// Range is lines Start to End, counted from 0, End not included.
type Range struct{ Start, End int }

func (r Range) lines() int { return r.End - r.Start }

// Merge merges the changes that ours and theirs made to base. It is for text: the caller must not pass text with a NUL.
func Merge(base, ours, theirs string, o Options) Result {
	return merge(base, ours, theirs, o, diff.MaxWork)
}

func merge(base, ours, theirs string, o Options, work int) Result {
	m := merger{lines: map[string]int32{}}
	m.base, m.ours, m.theirs = m.text(base), m.text(ours), m.text(theirs)
	a := diff.Aligner{Work: work}
	mine := a.Align(m.base.numbers, m.ours.numbers, len(m.lines))
	gaveUp := a.Work <= 0
	a.Work = work
	yours := a.Align(m.base.numbers, m.theirs.numbers, len(m.lines))
	gaveUp = gaveUp || a.Work <= 0
	m.pair(mine, yours)
	if gaveUp && len(mine) > 0 && len(yours) > 0 {
		m.doubt()
	}
	a.Work = work
	m.narrow(&a)
	m.join()
	return m.write(o)
}

// merger is one merge in progress.
type merger struct {
	lines              map[string]int32
	base, ours, theirs text
	hunks              []Hunk
}

// text is a text in lines, with their ends, and the lines' numbers.
type text struct {
	lines   []string
	numbers []int32
}

func (m *merger) text(s string) text {
	n := strings.Count(s, "\n") + 1
	t := text{make([]string, 0, n), make([]int32, 0, n)}
	for line := range strings.Lines(s) {
		number, ok := m.lines[line]
		if !ok {
			number = int32(len(m.lines))
			m.lines[line] = number
		}
		t.lines = append(t.lines, line)
		t.numbers = append(t.numbers, number)
	}
	return t
}
