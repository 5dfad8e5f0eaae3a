package dialect

import "strings"

// ByContent reads a result whose call is missing by what it looks like: a
// header that begins with 📄, or lines that begin with "123→" (TRIM-5, the
// second way). Numbered lines alone do not tell their file.
func (t *Table) ByContent(text string) (Result, bool) {
	in := &reading{action: Action{Op: Read}, row: &row{}, text: text}
	if out, ok := readSections(in); ok {
		return out.sane(), true
	}
	n, ok := readNumbered(text, "→")
	if !ok {
		return Result{}, false
	}
	s := Section{End: n.size, First: n.first, Lines: n.lines, Cut: n.clip || !trailer(text[n.size:]), Beside: strings.TrimSpace(text[n.size:])}
	return Result{Sections: []Section{s}}.sane(), true
}
