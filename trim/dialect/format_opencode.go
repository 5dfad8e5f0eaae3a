package dialect

import "strings"

// readOpencode reads <path>P</path><type>file</type><content> with "12: text"
// lines and a note in parentheses at the end, and the older <file> with
// "00012| text", where an empty numbered line stands behind the last one.
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
	behind := ""
	if j := strings.LastIndex(body, end); j >= 0 && j+1 >= n.size {
		s.End = i + len(open) + j + len(end)
		behind, note = text[s.End:], strings.TrimLeft(body[n.size:max(n.size, j)], "\n")
	}
	note, more, _ := strings.Cut(note, "\n")
	s.Beside = joinNotes(except(head, "<type>file</type>"), more, behind)
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
