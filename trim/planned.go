package trim

import (
	"strconv"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// A result may come with pointers in it: the request was planned before, or the
// session comes from another process. Such a result is not deduplicated again.
// What it shows next to its pointers is recorded.

// recordPlanned records a read that holds pointers.
func (st *State) recordPlanned(res *toolResult) {
	for i := range res.reads {
		r := &res.reads[i]
		for j := range r.sections {
			if s := &r.sections[j]; numbered(s) {
				f := st.ledger.file(r.key)
				f.askedAgain(spanOf(s), res.call)
				for _, b := range blocks(s) {
					f.show(st.sourceOf(res), b.first, b.lines)
				}
			}
		}
	}
	for _, p := range res.pointers {
		k := st.keys.key(p.name)
		if t := res.call.action.Targets; len(t) == 1 {
			k = st.keys.key(t[0].Path) // the pointer has its last element alone
		}
		if k != "" {
			f := st.ledger.file(k)
			b := blockAfter(res.text[p.end:], p.lines.last+1)
			f.show(st.sourceOf(res), b.first, b.lines)
			f.hide(hiddenLines{span: p.lines, message: res.at.Message})
		}
	}
}

// block is lines that are one below the other, and the number of the first.
type block struct {
	first int
	lines []string
}

// blocks splits the lines of a section at the pointers among them. The lines after a
// pointer are numbered from where it ends. A line that only looks like a pointer is
// the file's: a pointer stands for lines of this file, from its place on.
func blocks(s *dialect.Section) []block {
	var out []block
	first, from := s.First, 0
	for i, line := range s.Lines {
		if !strings.HasPrefix(line, mark) {
			continue
		}
		if found := findPointers(line); len(found) == 1 && found[0].lines.first == first+i-from && found[0].of(s.Path) {
			out = append(out, block{first, s.Lines[from:i]})
			first, from = found[0].lines.last+1, i+1
		}
	}
	return append(out, block{first, s.Lines[from:]})
}

// blockAfter returns the numbered lines that a text goes on with after a pointer: those
// numbered first and on.
func blockAfter(text string, first int) block {
	if rest, ok := strings.CutPrefix(text, escapedBreak); ok { // in a JSON string
		rest, _, _ = strings.Cut(rest, `",`)
		text = "\n" + strings.NewReplacer(escapedBreak, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(rest)
	}
	b := block{first: first}
	_, text, _ = strings.Cut(text, "\n")
	for row := range strings.Lines(text) {
		line, ok := numberedLine(strings.TrimSuffix(row, "\n"), first+len(b.lines))
		if !ok {
			break
		}
		b.lines = append(b.lines, line)
	}
	return b
}

// numberedLine returns the line that is after number n in a row.
func numberedLine(row string, n int) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(row, " L0"), strconv.Itoa(n))
	if !ok {
		return "", false
	}
	for _, separator := range []string{"\t", "→", " | ", "| ", ": ", ". ", ":"} {
		if line, ok := strings.CutPrefix(rest, separator); ok {
			return line, true
		}
	}
	return "", false
}
