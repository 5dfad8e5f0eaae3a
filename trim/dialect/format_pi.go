package dialect

import "strings"

// readNoted reads lines without numbers and a note in brackets at the end:
// "[53 more lines in file. Use offset=350 to continue.]" or "[Showing lines
// a-b of N. …]". The note tells how many lines there are; its totals count
// what stands behind the file's final line end.
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
