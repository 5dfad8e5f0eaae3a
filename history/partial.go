package history

import (
	"path"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// maxPieces is how many texts above one line may point to.
const maxPieces = 6

// bytesPerToken is what distances in a request are estimated with.
const bytesPerToken = 4

// seam is how many lines of a file are shown again beside lines that are new.
// What a command printed has no place to be found again, and no seam.
const seam = 1

// covered returns how many lines the runs hold.
func covered(runs []run) int {
	n := 0
	for _, r := range runs {
		n += r.len()
	}
	return n
}

// pieces returns what a line says of runs. first is the number of line 0.
func (f *file) pieces(first int, runs []run) []piece {
	out := make([]piece, len(runs))
	for i, r := range runs {
		t := &f.ledger.texts[r.text]
		out[i] = piece{span{first + r.from, first + r.to - 1}, t, r.at, t.file != f}
	}
	return out
}

// partial returns the section with one line in place of each stretch of lines
// in view, and all else as it is: the lines that are new, a few beside them,
// and what the tool says around them.
func (f *State) partial(fa *fact, r *read, s *dialect.Section, l *file, runs []run) (cut, bool) {
	if len(runs) == 0 {
		return cut{}, false
	}
	rows := rowsOf(fa.text, s)
	if rows == nil {
		return cut{}, false
	}
	total := 0
	if s.Said != l.said[fa.call.action.Row] {
		total = s.Total
	}
	name := r.path
	if len(fa.call.action.Targets) == 1 {
		name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	}
	text, gone := f.engine.words.shorter(fa.text, name, s, total, rows, l, runs)
	if len(gone) == 0 {
		return cut{}, false
	}
	l.stay(f.bearer(fa), s, gone)
	l.tell(fa.call.action.Row, s)
	for _, g := range gone {
		l.shorten(shortened{span: span{s.First + g.first, s.First + g.last - 1}, text: fa.text[s.Start:s.End], message: fa.message})
	}
	return cut{section: s, text: text, path: r.path, part: true}, true
}

// shorter returns the text of a section with one line in place of each stretch
// of lines in view that is worth it, and which lines those are: half-open
// ranges of indexes. total is as in standing, rows as in rowsOf.
func (w wording) shorter(text, name string, s *dialect.Section, total int, rows []int, l *file, runs []run) (string, []span) {
	var b strings.Builder
	var gone []span
	at := s.Start
	tear := tear{rows: rows}
	if l.path != outputs {
		tear.seam = seam
	}
	for _, stretch := range tear.stretches(runs) {
		first, end := stretch[0].from, stretch[len(stretch)-1].to
		line := w.standing(name, span{s.First + first, s.First + end - 1}, total, l.pieces(s.First, stretch), len(gone) == 0)
		if 2*len(line) > rows[end]-rows[first] {
			continue
		}
		if len(gone) == 0 {
			b.Grow(s.End - s.Start - (rows[end] - rows[first]) + len(line) + len(escapedBreak)) // what else is left out makes it shorter
		}
		b.WriteString(text[at:rows[first]])
		b.WriteString(line)
		at = rows[end]
		for _, end := range []string{"\n", escapedBreak} {
			if strings.HasSuffix(text[rows[first]:at], end) {
				b.WriteString(end)
			}
		}
		gone = append(gone, span{first, end})
	}
	if len(gone) == 0 {
		return text[s.Start:s.End], nil
	}
	b.WriteString(text[at:s.End])
	if left := s.End - s.Start - b.Len(); left < worth && covered(runs) < len(s.Lines) {
		return text[s.Start:s.End], nil
	}
	return b.String(), gone
}

// stay records that the lines of s stand but those gone: half-open ranges of
// indexes, in order.
func (f *file) stay(b bearer, s *dialect.Section, gone []span) {
	at := 0
	for _, g := range append(gone, span{len(s.Lines), len(s.Lines)}) {
		f.add(text{bearer: b, first: s.First + at, lines: s.Lines[at:g.first], stripped: s.Stripped})
		at = g.last
	}
}

// tear is how lines are torn apart. rows is as in rowsOf, seam as the constant.
type tear struct {
	rows []int
	seam int
}

// stretches puts runs that touch together, takes off what is shown again
// beside new lines, and splits what has too many pieces at the smallest of
// them.
func (t tear) stretches(runs []run) [][]run {
	var out [][]run
	for from := 0; from < len(runs); {
		to := from + 1
		for to < len(runs) && runs[to].from == runs[to-1].to {
			to++
		}
		out = t.split(out, runs[from:to])
		from = to
	}
	return out
}

// split adds a stretch to out, in as many as it takes.
func (t tear) split(out [][]run, stretch []run) [][]run {
	stretch = t.trim(stretch)
	if len(stretch) <= maxPieces {
		if len(stretch) > 0 {
			out = append(out, stretch)
		}
		return out
	}
	least := 0
	size := func(r run) int { return t.rows[r.to] - t.rows[r.from] }
	for i := range stretch {
		if size(stretch[i]) < size(stretch[least]) {
			least = i
		}
	}
	out = t.split(out, stretch[:least])
	return t.split(out, stretch[least+1:])
}

// trim returns a stretch without the lines at its ends that stand beside new
// ones.
func (t tear) trim(stretch []run) []run {
	if len(stretch) == 0 {
		return nil
	}
	from, to := stretch[0].from, stretch[len(stretch)-1].to
	if from > 0 {
		from += t.seam
	}
	if to < len(t.rows)-1 {
		to -= t.seam
	}
	var out []run
	for _, r := range stretch {
		if r.from < from {
			r.at += from - r.from
			r.from = from
		}
		if r.to = min(r.to, to); r.len() > 0 {
			out = append(out, r)
		}
	}
	return out
}
