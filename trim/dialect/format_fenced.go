package dialect

import "strings"

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
