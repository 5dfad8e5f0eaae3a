package dialect

import "strings"

// readPlainNumbers reads a text that begins with a numbered line: "12\ttext",
// "12→text", "12 | text", "12: text", "12. text". Agents that split a file at
// its line ends show the end of the last line as an empty numbered line; it is
// dropped where the read reached the end of the file. Lines that follow the
// last number (a reminder to the model) are no part of the section.
//
// A table of data may begin with a number too: the first one must be that of
// the first line asked for.
func readPlainNumbers(in *reading) (Result, bool) {
	n, ok := readNumbered(in.text, separator(in.text))
	if !ok || n.first != max(in.target().First, 1) {
		return Result{}, false
	}
	return in.numbers(n, false)
}

// readPieces is readPlainNumbers for an agent that numbers every text, and
// that splits the file at its line ends.
func readPieces(in *reading) (Result, bool) {
	n, ok := readNumbered(in.text, separator(in.text))
	if !ok || in.target().First > 1 && n.first != in.target().First {
		return Result{}, false
	}
	return in.numbers(n, true)
}

// numbers returns the section that begins with numbered lines. pieces is as in
// fill.
func (in *reading) numbers(n numberedLines, pieces bool) (Result, bool) {
	if len(in.action.Targets) > 1 {
		return Result{}, false
	}
	s := in.section()
	rest := in.text[n.size:]
	s.End = n.size
	if rest == "" {
		s.End = len(in.text)
	} else if s.End > 0 && strings.HasPrefix(rest, "\n") {
		s.End--
	}
	// A separate last line end closes the last line; without one, an empty
	// last line is what stands behind the file's final line end.
	ended := rest == "" && !n.open
	s.fill(n, in.target(), in.row.Most, !ended, pieces)
	s.Beside = strings.TrimSpace(rest)
	if !trailer(rest) {
		s.Cut = true
		s.forgetEnd()
	}
	return oneSection(s)
}

// fill takes over numbered lines. most is how many lines a read without a
// limit shows. phantom says that an empty numbered line at the end of the file
// is no line, pieces that there is always one where the file ends in a line
// end.
func (s *Section) fill(n numberedLines, t Target, most int, phantom, pieces bool) {
	s.First, s.Lines, s.Cut = n.first, n.lines, n.clip
	asked := most
	if t.Last > 0 {
		asked = t.Last - max(t.First, 1) + 1
	}
	if asked > 0 && len(n.lines) >= asked {
		return // the end of the file is not known to be reached
	}
	s.Said = s.First + len(s.Lines) - 1
	switch last := len(s.Lines) - 1; {
	case phantom && strings.TrimSuffix(s.Lines[last], "\r") == "":
		s.Lines, s.Final = s.Lines[:last], FinalNewline
	case phantom && pieces:
		s.Final = FinalNone
	}
	s.Total = s.First + len(s.Lines) - 1
	if s.Cut {
		s.Total = 0
	}
}

// trailer reports whether what follows the lines of a file is a message to the
// model, and not a sign that something was left out.
func trailer(rest string) bool {
	rest = strings.TrimLeft(rest, "\r\n")
	return rest == "" || strings.HasPrefix(rest, "<system-reminder>")
}

// numberAfter reads the digits that follow mark in s, or 0.
func numberAfter(s, mark string) int {
	i := strings.Index(s, mark)
	if i < 0 {
		return 0
	}
	n, _ := number(s[i+len(mark):])
	return n
}

// readRaw reads a text that is the content and nothing else.
func readRaw(in *reading) (Result, bool) {
	if len(in.action.Targets) != 1 {
		return Result{}, false
	}
	s := in.section()
	s.content(in.text, in.target(), in.row)
	return oneSection(s)
}

// content takes over lines without numbers: those that the call asked for.
func (s *Section) content(text string, t Target, r *row) {
	s.First = max(t.First, 1)
	if placeholder(text) {
		s.First, s.Cut = 0, true
		return
	}
	s.Lines = splitLines(text)
	s.Cut = anyClipped(s.Lines)
	if i := len(s.Lines) - 1; i >= 0 && cutAtEnd(s.Lines[i]) {
		s.Lines, s.Cut = s.Lines[:i], true
	}
	asked := 0
	if r != nil {
		asked = r.Most
		if r.Tail != "" {
			s.First, s.Cut = 0, true // the end of a file of unknown length
			return
		}
	}
	if t.Last > 0 {
		asked = t.Last - s.First + 1
	}
	switch {
	case asked > 0 && len(s.Lines) > asked:
		s.Cut = true // notes of the tool among the lines
	case s.Cut, asked > 0 && len(s.Lines) == asked:
	case len(s.Lines) > 0 || s.First == 1:
		s.Total = s.First + len(s.Lines) - 1
		s.ends(text)
	}
}

// ends takes over what a text without numbers tells that reaches the end of
// the file.
func (s *Section) ends(text string) {
	if len(s.Lines) > 0 {
		s.Said, s.Final = s.First-1+pieces(text), finalOf(text)
	}
}

// cutAtEnd reports whether a last line is a tool's note that it cut the text.
func cutAtEnd(line string) bool {
	if !strings.HasSuffix(line, "]") && !strings.HasSuffix(line, ")") && !strings.HasSuffix(line, "...") && !strings.HasSuffix(line, "…") {
		return false
	}
	return strings.HasSuffix(line, "... [truncated]") || strings.Contains(line, "truncated") &&
		(strings.HasPrefix(line, "[") || strings.HasPrefix(line, "(") || strings.HasPrefix(line, "..."))
}
