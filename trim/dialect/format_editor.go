package dialect

import (
	"strings"
	"unicode/utf8"
)

// readView reads "Here's the result of running `cat -n` on P:" and numbered
// lines, or the numbered lines alone ("12. text"). Behind the last line of the
// file stands an empty numbered one.
func readView(in *reading) (Result, bool) {
	s := in.section()
	if s.Path == "" {
		return Result{}, false
	}
	text, tty := in.text, false
	if rest, ok := strings.CutPrefix(text, "OBSERVATION:\n"); ok {
		text, tty = rest, endsInCRLF(rest)
	}
	listing := strings.HasPrefix(text, "Here's the files and directories") || strings.HasPrefix(text, "Here are the files and directories")
	if strings.HasPrefix(text, "<NOTE>") {
		s.Cut = true // an abbreviated file
		return oneSection(s)
	}
	if strings.HasPrefix(text, "Here's the result of running `cat -n`") || strings.HasPrefix(text, "Here's the content of ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	n, ok := readNumbered(text, separator(text))
	switch {
	case listing, !ok && in.action.Op == Read && looksListed(text):
		return readListing(in)
	case !ok:
		return Result{}, false
	}
	if tty {
		s.Stripped = trimCarriageReturns(n.lines)
	}
	rest := strings.TrimSpace(text[n.size:])
	last := len(n.lines) - 1
	if n.lines[last] == "" {
		// Another line break may stand behind the last line.
		rest = strings.TrimLeft(rest, "\r\n")
	}
	i := strings.LastIndex(n.lines[last], "<response clipped>")
	switch {
	case i >= 0 || strings.Contains(rest, "<response clipped>"):
		s.First, s.Lines, s.Cut = n.first, n.lines[:last], true
	case strings.HasPrefix(rest, "[Output truncated"):
		s.First, s.Lines, s.Cut = n.first, n.lines, n.clip
	case rest != "" && !trailer(rest):
		s.First, s.Lines, s.Cut = n.first, n.lines, true
	default:
		s.fill(n, in.target(), 0, true, false)
	}
	s.Beside = except(rest, "[Output truncated", "<response clipped>")
	return oneSection(s)
}

// readBareView reads a view that shows the lines alone, or, in older versions, all of them numbered
// ("12. text"). A range ends in a line end only where an empty line, or the end of the file, does.
func readBareView(in *reading) (Result, bool) {
	if strings.HasPrefix(in.text, "\ndiff --git a/") { // of an empty file
		return Result{}, false
	}
	text, next := in.text, 0
	if i := strings.LastIndex(text, "\n\n[Output truncated. Use view_range=["); i >= 0 {
		text, next = text[:i], numberAfter(text[i:], "view_range=[")
	}
	n, ok := readNumbered(text, separator(text))
	if ok && n.first == max(in.target().First, 1) && trailer(text[n.size:]) || next == 0 && looksListed(text) {
		return readView(in)
	}
	out, ok := readRaw(&reading{in.action, in.row, text})
	for i := range out.Sections {
		s := &out.Sections[i]
		s.End = len(in.text)
		if next > 0 || in.target().First > 0 {
			s.forgetEnd()
		}
		if whole := next - s.First; next > 0 && whole < len(s.Lines) { // the last line is clipped
			s.Lines, s.Cut = s.Lines[:max(whole, 0)], true
		}
	}
	return out, ok
}

// looksListed reports whether text can be a directory listing: short lines
// with nothing but a name.
func looksListed(text string) bool {
	if text == "" || len(text) > 64<<10 {
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 255 || line == "" || strings.ContainsAny(line, " \t(){};=<>\"'") {
			return false
		}
	}
	return true
}

// readWindow reads "[File: P (N lines total)]", "(n more lines above)", lines
// "12:text" and "(n more lines below)"; or "L12: text", Codex's read_file.
func readWindow(in *reading) (Result, bool) {
	text := in.text
	if strings.HasPrefix(text, "L") && in.target().Path != "" {
		return readMarked(in)
	}
	i := strings.Index(text, "[File: ")
	if i < 0 || i > 4096 {
		return Result{}, false
	}
	head, body, _ := strings.Cut(text[i:], "\n")
	j := strings.LastIndex(head, " (")
	if j < len("[File: ") {
		return Result{}, false
	}
	s := in.section()
	s.Total, _ = number(head[j+2:])
	s.Said = s.Total
	before := strings.TrimPrefix(text[:i], "OBSERVATION:\n")
	tty := strings.HasSuffix(head, "\r")
	if strings.HasPrefix(body, "(") {
		_, body, _ = strings.Cut(body, "\n")
	}
	n, ok := readNumbered(body, ":")
	if !ok {
		s.Cut = true
		return oneSection(s)
	}
	if tty {
		s.Stripped = trimCarriageReturns(n.lines)
	}
	rest := strings.TrimLeft(body[n.size:], "\r\n")
	s.First, s.Lines = n.first, n.lines
	s.Cut = n.clip || rest != "" && !strings.HasPrefix(rest, "(")
	s.Beside = joinNotes(before, except(rest, "(", "bash-$"))
	return oneSection(s)
}

// readMarked reads lines "L12: text".
func readMarked(in *reading) (Result, bool) {
	s := in.section()
	for line := range strings.Lines(in.text) {
		line = strings.TrimSuffix(line, "\n")
		n, i := number(strings.TrimPrefix(line, "L"))
		rest := strings.TrimPrefix(line, "L")[i:]
		if i == 0 || !strings.HasPrefix(rest, ": ") && rest != ":" || s.First > 0 && n != s.First+len(s.Lines) {
			return Result{}, false
		}
		if s.First == 0 {
			s.First = n
		}
		rest = strings.TrimPrefix(rest[1:], " ")
		s.Lines = append(s.Lines, rest)
		// It cuts lines at 500 bytes, before a character that does not fit,
		// without a word.
		s.Cut = s.Cut || len(rest) > 500-utf8.UTFMax
	}
	return Result{Sections: []Section{s}}, s.First > 0
}
