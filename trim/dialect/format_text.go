package dialect

import (
	"strings"
	"unicode/utf8"
)

// Results that are text in the frame of an agent: a line above it, a fence, tags, a note below it.

// readView reads "Here's the result of running `cat -n` on P:" and numbered
// lines, or the numbered lines alone ("12. text"). Behind the last line of the
// file is an empty numbered one.
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
		// Another line break may be after the last line.
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

// showing is the header of a read that does not show the whole file. It may
// be in a longer one that begins with IMPORTANT.
const showing = "Showing lines "

// readShowing reads "Showing lines a-b of N total lines", a rule, and the
// lines. N, and the last of the lines, count what is after the file's
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
	body, ok, frame := "", false, head
	for _, rule := range []string{"\n---\n\n", "--- FILE CONTENT (truncated) ---\n"} { // the first one ends the frame; the file may hold the other
		if i := strings.Index(head, rule); i > at && i < len(frame) {
			body, ok, frame = text[i+len(rule):], true, head[:i]
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

// readOpencode reads <path>P</path><type>file</type><content> with "12: text"
// lines and a note in parentheses at the end, and the older <file> with
// "00012| text", where an empty numbered line is after the last one.
func readOpencode(in *reading) (Result, bool) {
	text := in.text
	s := in.section()
	old := strings.HasPrefix(text, "<file>\n")
	open, end, sep := "<content>\n", "\n</content>", ": "
	if old {
		open, end, sep = "<file>\n", "\n</file>", "| "
	} else if !strings.HasPrefix(text, "<path>") {
		return Result{}, false
	}
	if head, _, ok := strings.Cut(text, "\n<entries>"); ok && strings.Contains(head, "<type>directory</type>") {
		return readListing(in)
	}
	i := strings.Index(text, open)
	if i < 0 || i > 8192 {
		return Result{}, false
	}
	body := text[i+len(open):]
	n, ok := readNumbered(body, sep)
	if !ok {
		n = numberedLines{first: max(in.target().First, 1)}
	}
	note := strings.TrimLeft(body[n.size:], "\n")
	s.First, s.Lines, s.Cut = n.first, n.lines, n.clip
	_, head, _ := strings.Cut(text[:i], "</path>")
	after := ""
	if j := strings.LastIndex(body, end); j >= 0 && j+1 >= n.size {
		s.End = i + len(open) + j + len(end)
		after, note = text[s.End:], strings.TrimLeft(body[n.size:max(n.size, j)], "\n")
	}
	note, more, _ := strings.Cut(note, "\n")
	s.Beside = joinNotes(except(head, "<type>file</type>"), more, after)
	switch {
	case strings.HasPrefix(note, "(End of file"):
		s.Total = numberAfter(note, "total ")
		s.Said = s.Total
		if last := len(s.Lines) - 1; old && last >= 0 {
			if s.Final = FinalNone; s.Lines[last] == "" {
				s.Lines, s.Final = s.Lines[:last], FinalNewline
			}
		}
		if old || s.Total == 0 {
			s.Total = s.First + len(s.Lines) - 1
		}
	case strings.HasPrefix(note, "(Showing lines "):
		s.Total = numberAfter(note, " of ")
		s.Said = s.Total
		if b := numberAfter(note, "-"); b > 0 && b != s.First+len(s.Lines)-1 {
			s.Cut, s.Total = true, 0
		}
	case strings.HasPrefix(note, "(File has more lines"), strings.HasPrefix(note, "(Output capped at"), strings.HasPrefix(note, "(Output truncated"):
	default:
		s.Cut = true
	}
	if s.Path == "" {
		return Result{}, false
	}
	return oneSection(s)
}

// readListing reads a directory listing: all of it, line by line.
func readListing(in *reading) (Result, bool) {
	s := in.section()
	if s.Path == "" {
		return Result{}, false
	}
	s.Dir, s.Lines = true, splitLines(in.text)
	return oneSection(s)
}

// readNoted reads lines without numbers and a note in brackets at the end:
// "[53 more lines in file. Use offset=350 to continue.]" or "[Showing lines
// a-b of N. …]". The note says how many lines there are; its totals count
// what is after the file's final line end.
func readNoted(in *reading) (Result, bool) {
	s := in.section()
	if s.Path == "" {
		return Result{}, false
	}
	if strings.HasPrefix(in.text, "[Line ") && !strings.Contains(in.text, "\n") && strings.Contains(in.text, " exceeds ") {
		s.Cut = true // a line too long to be shown
		return oneSection(s)
	}
	note, i := "", strings.LastIndex(in.text, "\n\n[")
	if i >= 0 && strings.HasSuffix(in.text, "]") {
		note = in.text[i+2:]
	}
	next, pages := numberAfter(note, "Use offset="), strings.HasPrefix(note, "[Showing lines ")
	if next == 0 || strings.Contains(note, "\n") || !pages && !strings.Contains(note, "more lines in file") {
		out, ok := readRaw(in)
		for i := range out.Sections {
			if raw := &out.Sections[i]; !raw.Cut {
				raw.ends(in.text) // where more lines follow there is a note
			}
		}
		return out, ok
	}
	if s.Said = numberAfter(note, " of "); !pages {
		more, _ := number(note[1:])
		s.Said = next - 1 + more
	}
	s.First = max(in.target().First, 1)
	s.Lines = strings.Split(in.text[:i], "\n")
	if len(s.Lines) != next-s.First {
		s.Lines, s.First, s.Cut = nil, 0, true
	}
	s.Cut = s.Cut || anyClipped(s.Lines)
	return oneSection(s)
}

// readFenced reads lines in a Markdown fence, below a line that names them:
// "File: `P`. Lines a to b (N lines total):".
func readFenced(in *reading) (Result, bool) {
	s := in.section()
	if s.Path == "" {
		return Result{}, false
	}
	head, first := "", max(in.target().First, 1)
	i := strings.Index(in.text[:min(len(in.text), 2000)], "```")
	if i < 0 {
		return Result{}, false
	}
	head = in.text[:i]
	_, body, ok := strings.Cut(in.text[i:], "\n")
	fence := in.text[i : i+len(in.text[i:])-len(strings.TrimLeft(in.text[i:], "`"))]
	end := strings.LastIndex(body, "\n"+fence)
	if !ok || end < 0 {
		return Result{}, false
	}
	tail := strings.TrimSpace(body[end+1+len(fence):])
	body = body[:end+1]
	if strings.Contains(head, "truncated") || tail != "" {
		s.Cut = true
	}
	last := 0
	if at := strings.LastIndex(head, "Lines "); at >= 0 {
		first, _ = number(head[at+len("Lines "):])
		last = numberAfter(head[at:], " to ")
		s.Total = numberAfter(head[at:], "(")
		s.Said = s.Total
	}
	s.Beside = joinNotes(except(head, "File: `"), tail)
	if strings.HasPrefix(body, "// filepath: ") {
		_, body, _ = strings.Cut(body, "\n")
	}
	s.First, s.Lines = first, splitLines(body)
	if last > 0 && len(s.Lines) != last-first+1 || first < 1 || last == 0 && in.target().First > 1 {
		s.Cut = true
	}
	if s.Cut {
		s.Total = 0
	}
	return oneSection(s)
}
