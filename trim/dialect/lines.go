package dialect

import "strings"

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
// as on a terminal. A file may be so itself: what is taken off must be told.
func endsInCRLF(s string) bool {
	n := strings.Count(s, "\n")
	return n > 0 && strings.Count(s, "\r\n") == n
}

// joinNotes joins what stands beside the lines of a file.
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
// ends: what stands behind the last one counts.
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
	next  int  // the number that the line behind the run must have
	size  int  // bytes of the run, line ends included
	open  bool // the last line has no line end
	clip  bool // a line was cut off by the tool
}

// seps are what may stand between a number and the line, the longest first.
var seps = []string{"\t", "→", " | ", ": ", "| ", ". "}

// number reads the number at the beginning of a line, leading spaces skipped:
// its value, and the index behind it; 0 if there is none.
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

// separator returns what stands between number and text in the first line of s.
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

// read reads the run that s begins with. The lines take the place behind room
// that its capacity leaves; nil makes enough for all lines of s.
func (r *numberedLines) read(s string, room []string) {
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
			if r.first = n; room == nil {
				room = make([]string, 0, strings.Count(s[r.size:], "\n")+1)
			}
			r.lines = room[len(room):]
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
