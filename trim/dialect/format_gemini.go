package dialect

import "strings"

// showing is the header of a read that does not show the whole file. It may
// stand in a longer one that begins with IMPORTANT.
const showing = "Showing lines "

// readShowing reads "Showing lines a-b of N total lines", a rule, and the
// lines. N, and the last of the lines, count what stands behind the file's
// final line end.
func readShowing(in *reading) (Result, bool) {
	text := in.text
	if text == "(read_file completed with no output)" {
		s := in.section()
		s.First = max(in.target().First, 1)
		return Result{Sections: []Section{s}}, s.Path != ""
	}
	head := text[:min(len(text), 1000)]
	at := strings.Index(head, showing)
	if at < 0 || at > 0 && !strings.HasPrefix(strings.TrimLeft(head, "\n"), "IMPORTANT: ") {
		return Result{}, false
	}
	a, _ := number(head[at+len(showing):])
	b := numberAfter(head[at+len(showing):], "-")
	total := numberAfter(head[at:], " of ")
	body, ok, frame := "", false, ""
	for _, rule := range []string{"\n---\n\n", "--- FILE CONTENT (truncated) ---\n"} {
		if i := strings.Index(head, rule); i > at {
			body, ok, frame = text[i+len(rule):], true, head[:i]
			break
		}
	}
	if !ok || a < 1 || b < a || in.target().Path == "" {
		return Result{}, false
	}
	s := in.section()
	s.First, s.Said = a, total
	s.Beside = except(frame, "IMPORTANT: ", "Status: ", "Action: ", showing)
	s.Lines = strings.Split(body, "\n")
	s.Cut = anyClipped(s.Lines)
	last := len(s.Lines) - 1
	if strings.HasSuffix(s.Lines[last], "... [truncated]") {
		s.Lines, s.Cut = s.Lines[:last], true
	}
	switch {
	case s.Cut:
	case a > total: // past the end
		s.Lines = nil
	case len(s.Lines) != b-a+1:
		s.Cut = true
		s.Lines = s.Lines[:min(len(s.Lines), b-a+1)]
	case b == total:
		s.Final = FinalNone
		if s.Lines[last] == "" && (a < b || total > 1) {
			s.Lines, s.Final = s.Lines[:last], FinalNewline
		}
		s.Total = a + len(s.Lines) - 1
	}
	return oneSection(s)
}

// readContentOf reads "Content of P:" and the content.
func readContentOf(in *reading) (Result, bool) {
	if !strings.HasPrefix(in.text, "Content of ") || in.target().Path == "" {
		return Result{}, false
	}
	head, body, ok := strings.Cut(in.text, ":\n")
	if !ok || strings.Contains(head, "\n") {
		return Result{}, false
	}
	s := in.section()
	s.content(body, in.target(), in.row)
	if len(body) > 90_000 || len(s.Lines) > 4900 || strings.Contains(head, "truncated") {
		// Near the limit of the tool, which may have said so anywhere.
		s.Cut = s.Cut || strings.Contains(body, "truncated")
	}
	if s.Cut {
		s.forgetEnd()
	}
	return oneSection(s)
}
