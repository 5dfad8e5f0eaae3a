package merge3

import "strings"

// write builds the merged text. It starts from our text. A part that only they changed is taken from their text. In a conflict both
// versions are written, between markers.
func (m *merger) write(o Options) Result {
	w := writer{}
	r := Result{Hunks: m.hunks}
	next := 0 // line of ours
	for i := range r.Hunks {
		h := &r.Hunks[i]
		w.add(m.ours.lines[next:h.Ours.Start], "")
		next = h.Ours.End
		h.Merged.Start = w.lines
		switch h.Kind {
		case Ours:
			w.add(m.ours.lines[h.Ours.Start:h.Ours.End], "")
		case Theirs:
			w.add(m.theirs.lines[h.Theirs.Start:h.Theirs.End], "")
		case Conflict:
			r.Conflicts++
			eol := m.lineEnd(*h)
			w.marker("<<<<<<<", o.Ours, eol)
			w.add(m.ours.lines[h.Ours.Start:h.Ours.End], eol)
			w.marker("=======", "", eol)
			w.add(m.theirs.lines[h.Theirs.Start:h.Theirs.End], eol)
			w.marker(">>>>>>>", o.Theirs, eol)
		}
		h.Merged.End = w.lines
	}
	w.add(m.ours.lines[next:], "")
	r.Text = w.b.String()
	return r
}

type writer struct {
	b     strings.Builder
	lines int
}

// add writes lines, and eol after a last line without a line end.
func (w *writer) add(lines []string, eol string) {
	for _, line := range lines {
		w.b.WriteString(line)
	}
	w.lines += len(lines)
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		w.b.WriteString(eol)
	}
}

func (w *writer) marker(sign, label, eol string) {
	w.b.WriteString(sign)
	if label != "" {
		w.b.WriteByte(' ')
		w.b.WriteString(label)
	}
	w.b.WriteString(eol)
	w.lines++
}

// lineEnd returns the line end of a conflict's markers. It is CRLF if the line before the conflict (at the start of a text, its
// first line) ends in CRLF in ours and in theirs, and also the first line of base, if these have line ends.
func (m *merger) lineEnd(h Hunk) string {
	crlf := false
	for _, at := range []struct {
		t    text
		line int
	}{{m.ours, h.Ours.Start - 1}, {m.theirs, h.Theirs.Start - 1}, {m.base, 0}} {
		switch at.t.endOf(max(at.line, 0)) {
		case "\n":
			return "\n"
		case "\r\n":
			crlf = true
		}
	}
	if crlf {
		return "\r\n"
	}
	return "\n"
}

// endOf returns the line end of line i; for a last line without one, that of the line before; "" if there is none.
func (t text) endOf(i int) string {
	if i > 0 && i == len(t.lines)-1 && !strings.HasSuffix(t.lines[i], "\n") {
		i--
	}
	switch {
	case i >= len(t.lines) || !strings.HasSuffix(t.lines[i], "\n"):
		return ""
	case strings.HasSuffix(t.lines[i], "\r\n"):
		return "\r\n"
	}
	return "\n"
}
