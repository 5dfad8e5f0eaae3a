package trim

import (
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// Some lines of a section are in view, and others are new. Each stretch of lines in view
// becomes a pointer. The rest stays as the tool wrote it.

// seam is how many lines of a file that are in view are shown again beside new ones.
// The lines of an output have no place to be found again, and no seam.
const seam = 1

// partialRepeat returns a section with pointers in place of the lines in view, and
// whether anything is replaced.
func (st *State) partialRepeat(res *toolResult, r *fileRead, s *dialect.Section, f *file, runs []run) (replacement, bool) {
	rows := rowsOf(res.text, s)
	if rows == nil {
		return replacement{}, false
	}
	t := torn{text: res.text, section: s, rows: rows, file: f, name: r.path, seam: seam, sparse: res.sparse}
	if s.Said != f.said[res.call.action.Row] {
		t.total = s.Total
	}
	if len(res.call.action.Targets) == 1 {
		t.name = lastElement(r.path)
	}
	text, replaced := t.shorten(runs)
	if len(replaced) == 0 {
		return replacement{}, false
	}
	res.pointTo(runs, replaced)
	st.hidePart(res, s, f, replaced)
	return replacement{section: s, text: text, path: r.path, partial: true, why: Partial}, true
}

// hidePart records that pointers stand for some lines of a section: half-open ranges of indexes.
func (st *State) hidePart(res *toolResult, s *dialect.Section, f *file, replaced []span) {
	f.showSection(st.sourceOf(res), s, replaced)
	f.tell(res.call.action.Row, s)
	for _, g := range replaced {
		f.hide(hiddenLines{span: span{s.First + g.first, s.First + g.last - 1}, text: res.text[s.Start:s.End], message: res.at.Message})
	}
}

// torn is a section that is torn apart at the lines in view.
type torn struct {
	text    string // of the result
	section *dialect.Section
	rows    []int // where its lines stand in text, as rowsOf returns it
	file    *file // whose lines it shows
	name    string
	total   int // as in pointer
	seam    int
	sparse  bool // line numbers that can be counted are left out of the lines that stay
}

// shorten returns the text of the section with a pointer in place of each stretch of
// runs that is worth it, and which lines those are: half-open ranges of indexes.
func (t *torn) shorten(runs []run) (string, []span) {
	var b strings.Builder
	var replaced []span
	s, rows := t.section, t.rows
	unchanged := t.text[s.Start:s.End]
	next := 0 // the row after those that are written
	for _, stretch := range t.stretches(runs) {
		first, end := stretch[0].from, stretch[len(stretch)-1].to
		line := (&pointer{name: t.name, file: t.file, first: s.First, runs: stretch, total: t.total, ask: len(replaced) == 0}).String()
		if 2*len(line) > rows[end]-rows[first] {
			continue
		}
		if len(replaced) == 0 {
			b.Grow(len(unchanged) - (rows[end] - rows[first]) + len(line) + len(escapedBreak)) // later pointers make it shorter
		}
		b.WriteString(t.rest(next, first))
		b.WriteString(line)
		next = end
		for _, lineEnd := range []string{"\n", escapedBreak} {
			if strings.HasSuffix(t.text[rows[first]:rows[end]], lineEnd) {
				b.WriteString(lineEnd)
			}
		}
		replaced = append(replaced, span{first, end})
	}
	if len(replaced) == 0 {
		return unchanged, nil
	}
	b.WriteString(t.rest(next, len(rows)-1))
	if saved := len(unchanged) - b.Len(); saved < worth && lineCount(runs) < len(s.Lines) {
		return unchanged, nil
	}
	return b.String(), replaced
}

// rest returns what the rows from up to to say, and what the section has before its first row and after its last.
func (t *torn) rest(from, to int) string {
	s, rows := t.section, t.rows
	text := t.text[rows[from]:rows[to]]
	if t.sparse {
		text = thin(t.text, s, rows, from, to)
	}
	if from == 0 {
		text = t.text[s.Start:rows[0]] + text
	}
	if to == len(rows)-1 {
		text += t.text[rows[to]:s.End]
	}
	return text
}

// stretches puts runs that touch together, takes off the lines that are shown again
// beside new ones, and splits a stretch that has too many runs.
func (t *torn) stretches(runs []run) [][]run {
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

// split adds a stretch to out. Where it has too many runs, it is split at the
// smallest one, which stays.
func (t *torn) split(out [][]run, stretch []run) [][]run {
	stretch = t.trim(stretch)
	if len(stretch) <= maxRuns {
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

// trim returns a stretch without the lines at its ends that stand beside new ones.
func (t *torn) trim(stretch []run) []run {
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
