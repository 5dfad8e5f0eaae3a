package dialect

import "strings"

// Lines in a result, with numbers before them or without, and what they say of their file.

// splitLines returns the lines of s without their line ends. A final line end
// ends the last line; it begins no new one.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	out := make([]string, 0, strings.Count(s, "\n")+1)
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		if s = s[i+1:]; s == "" {
			return out
		}
	}
}

// trimCarriageReturns drops the carriage return that a terminal put at the end of every
// line, and reports whether there was one.
func trimCarriageReturns(lines []string) bool {
	found := false
	for i, l := range lines {
		if l, ok := strings.CutSuffix(l, "\r"); ok {
			lines[i], found = l, true
		}
	}
	return found
}

// endsInCRLF reports whether every line end of s has a carriage return before it,
// as on a terminal. A file may be so itself: what is taken off must be reported.
func endsInCRLF(s string) bool {
	n := strings.Count(s, "\n")
	return n > 0 && strings.Count(s, "\r\n") == n
}

// joinNotes joins what is next to the lines of a file.
func joinNotes(parts ...string) string {
	out := ""
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			if out != "" {
				out += "\n"
			}
			out += p
		}
	}
	return out
}

// except returns the lines of s that begin with none of the heads, and are not
// blank.
func except(s string, heads ...string) string {
	out := ""
lines:
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		for _, h := range heads {
			if strings.HasPrefix(line, h) {
				continue lines
			}
		}
		out = joinNotes(out, line)
	}
	return out
}

// pieces counts the lines of a text as those do that split it at its line
// ends: what is after the last one counts.
func pieces(s string) int { return strings.Count(s, "\n") + 1 }

// finalOf returns how the last line of a text that reaches the end of its file
// ends.
func finalOf(s string) Final {
	switch {
	case s == "":
		return FinalUnknown
	case strings.HasSuffix(s, "\n"):
		return FinalNewline
	}
	return FinalNone
}

// numberedLines is what a run of lines with ascending numbers holds.
type numberedLines struct {
	sep   string // between number and text
	first int
	lines []string
	next  int  // the number that the line after the run must have
	size  int  // bytes of the run, line ends included
	open  bool // the last line has no line end
	clip  bool // a line was cut off by the tool
}

// seps are what may be between a number and the line, the longest first.
var seps = []string{"\t", "→", " | ", ": ", "| ", ". "}

// number reads the number at the beginning of a line, leading spaces skipped:
// its value, and the index after it; 0 if there is none.
func number(s string) (n, end int) {
	i := 0
	for i < len(s) && s[i] == ' ' && i < 16 {
		i++
	}
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' && i-start < 9 {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == start {
		return 0, 0
	}
	return n, i
}

// separator returns what is between number and text in the first line of s.
func separator(s string) string {
	_, i := number(s)
	if i == 0 {
		return ""
	}
	for _, sep := range seps {
		if strings.HasPrefix(s[i:], sep) {
			return sep
		}
	}
	// An empty first line whose separator lost its trailing space.
	for _, sep := range seps {
		if t := strings.TrimRight(sep, " "); strings.HasPrefix(s[i:], t+"\n") || s[i:] == t {
			return sep
		}
	}
	return ""
}

// readNumbered reads lines of the form number, separator, text for as long as
// the numbers follow each other.
func readNumbered(s, sep string) (numberedLines, bool) {
	r := numberedLines{sep: sep}
	r.read(s, nil)
	r.end(s)
	return r, len(r.lines) > 0
}

// read reads the run that s begins with. The lines are stored after space, in its capacity; nil makes enough for all lines of s.
func (r *numberedLines) read(s string, space []string) {
	if r.sep == "" {
		return
	}
	bare := strings.TrimRight(r.sep, " ")
	for r.size < len(s) {
		n, i := number(s[r.size:])
		if i == 0 || len(r.lines) > 0 && n != r.next {
			return
		}
		text, end := s[r.size+i:], len(s)
		if j := strings.IndexByte(text, '\n'); j >= 0 {
			end = r.size + i + j + 1
			text = text[:j]
		}
		switch {
		case strings.HasPrefix(text, r.sep):
			text = text[len(r.sep):]
		case text == bare, text == bare+"\r":
			text = text[len(bare):]
		default:
			return
		}
		if len(r.lines) == 0 {
			if r.first = n; space == nil {
				space = make([]string, 0, strings.Count(s[r.size:], "\n")+1)
			}
			r.lines = space[len(space):]
		}
		r.add(n, text, end, s)
	}
}

// add takes up line n, which ends at an offset of s.
func (r *numberedLines) add(n int, text string, end int, s string) {
	r.lines = append(r.lines, text)
	r.clip = r.clip || clipped(text)
	r.open = end == len(s) && s[end-1] != '\n'
	r.next, r.size = n+1, end
}

// end completes a run that was read, now that it is known that nothing follows
// s: white space at its end may have been dropped, and with it the separator of
// the last line.
func (r *numberedLines) end(s string) {
	if len(r.lines) == 0 {
		return
	}
	if rest := s[r.size:]; r.sep == "\t" {
		if n, i := number(rest); i > 0 && n == r.next && (rest[i:] == "" || rest[i:] == "\n") {
			r.add(n, "", len(s), s)
		}
	}
	if r.first == 0 {
		r.first = 1 // asked for offset 0, some count from 0
	}
}

// clipMarks are how tools end a line that they cut off.
var clipMarks = []string{"[truncated]", "[line truncated]", "(line truncated to 2000 chars)", "[truncated line]"}

// clipped reports whether the tool cut the line off. Only long lines are.
func clipped(line string) bool { return len(line) >= 1000 && marksCut(line) }

// marksCut reports whether a long line ends as tools end one that they cut off.
func marksCut(line string) bool {
	tail := strings.TrimRight(line[len(line)-40:], "\r ")
	for _, m := range clipMarks {
		if strings.HasSuffix(tail, m) {
			return true
		}
	}
	return len(line) >= 2000 && len(line) <= 2020 && (strings.HasSuffix(tail, "...") || strings.HasSuffix(tail, "…"))
}

func anyClipped(lines []string) bool {
	for _, l := range lines {
		if clipped(l) {
			return true
		}
	}
	return false
}

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
	// last line is what is after the file's final line end.
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

// ends takes over what a text without numbers says that reaches the end of
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
