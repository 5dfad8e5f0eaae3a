package dialect

import (
	"slices"
	"strings"
)

// Results with a section for each file: several reads in one answer, and what stet left in place of a section.

// Mark begins a line that stet left in place of a text. Package trim writes these lines.
const Mark = "[stet: "

const (
	fileMark  = "📄 "
	failMark  = "❌ "
	dirMark   = "📁 Directory: "
	imageMark = "🖼"

	documentEnd = " Document: "
)

// sectionMarks begin the section of a file: one that is shown, one that failed,
// a directory, an image, and the line that stet left in place of one.
var sectionMarks = [...]string{fileMark, failMark, dirMark, imageMark, Mark}

// marked reports whether the section of a file begins at s.
func marked(s string) bool {
	if c := s[0]; c < 0x80 && c != Mark[0] {
		return false
	}
	for _, m := range sectionMarks {
		if strings.HasPrefix(s, m) {
			return true
		}
	}
	return false
}

// readSections reads "📄 path (lines a-b/total)" and numbered lines, once per
// file. What is next to the lines (symbols, notebook entries) belongs to the
// section of its file, but is no line. A file that failed has a text of its own.
func readSections(in *reading) (Result, bool) {
	text := in.text
	if rest, ok := strings.CutPrefix(text, "Directory: "); ok && in.target().Path != "" {
		// A directory alone: its name, an empty line, its entries.
		if _, list, ok := strings.Cut(rest, "\n\n"); ok {
			s := in.section()
			s.Dir, s.Lines = true, splitLines(list)
			return oneSection(s)
		}
	}
	heads := sectionHeads(text)
	if len(heads) == 0 {
		return Result{}, false
	}
	before, first := text[:heads[0].at], text[heads[0].at:]
	if len(heads) == 1 && (strings.HasPrefix(first, failMark) || strings.HasPrefix(first, Mark)) {
		return Result{}, false
	}
	targets := in.action.Targets
	out := Result{Failed: true, Sections: make([]Section, 0, len(heads))}
	for k := range heads {
		end := len(text)
		if k+1 < len(heads) {
			end = heads[k+1].at
		}
		s := heads[k].section(text, end)
		if !s.name(targets, k, len(heads)) {
			return Result{}, len(targets) > 1 // cannot be distinguished
		}
		out.Failed = out.Failed && s.Failed
		out.Sections = append(out.Sections, s)
	}
	if head := strings.TrimSpace(before); strings.HasPrefix(head, "Error:") {
		out.Sections = append([]Section{{End: len(before), Failed: true}}, out.Sections...)
		out.Sections[0].Path, _, _ = strings.Cut(strings.TrimPrefix(head, "Error:"), "\n")
	}
	if len(out.Sections) == 1 {
		s := &out.Sections[0]
		s.Beside = joinNotes(before, s.Beside)
		if len(targets) < 2 {
			out.Unchanged, s.Start = s.Unchanged, 0
		}
	}
	return out, true
}

// sectionHead is where the section of a file begins in a text, and the numbered
// lines below its first line.
type sectionHead struct {
	at    int
	lines numberedLines
}

// sectionHeads finds the sections of a text, 1000 at most, where the first one
// begins in its first 4096 bytes. Their lines, which hold no mark, are read on the
// way.
func sectionHeads(text string) []sectionHead {
	var heads []sectionHead
	var space []string // for the lines of all sections
	for at := 0; at < len(text) && len(heads) < 1000 && (len(heads) > 0 || at <= 4096); {
		start, head := at, marked(text[at:])
		i := strings.IndexByte(text[at:], '\n')
		if at += i + 1; i < 0 {
			at = len(text)
		}
		if !head {
			continue
		}
		h := sectionHead{at: start}
		if strings.HasPrefix(text[start:], fileMark) {
			h.lines.sep = separator(text[at:])
			h.lines.read(text[at:], space)
			if at += h.lines.size; h.lines.size > 0 {
				space = h.lines.lines
				h.lines.lines = slices.Clip(space)
			}
		}
		heads = append(heads, h)
	}
	return heads
}

// name gives the section the path of the target that it shows: the one of its
// name, else the one in its place. Without targets its own name stays.
func (s *Section) name(targets []Target, k, n int) bool {
	if len(targets) == 0 {
		return true
	}
	i := matching(targets, s.Path)
	if i < 0 && len(targets) == n {
		i = k
	}
	if i < 0 {
		return false
	}
	s.Path = targets[i].Path
	return true
}

// section reads the section, which ends at an offset of text. Its path is the one
// in its first line.
func (h *sectionHead) section(text string, end int) Section {
	s := Section{Start: h.at, End: end}
	body := text[h.at:end]
	_, size, _ := strings.Cut(body, " ")
	head, rest, _ := strings.Cut(size, "\n")
	s.Path = strings.TrimSpace(head)
	switch {
	case strings.HasPrefix(body, dirMark):
		s.Path = strings.TrimSpace(strings.TrimPrefix(head, "Directory: "))
		s.Dir, s.Lines = true, splitLines(strings.TrimRight(rest, "\n"))
		return s
	case strings.HasPrefix(body, imageMark):
		_, head, _ = strings.Cut(head, ": ")
		if i := strings.LastIndex(head, " ("); i > 0 {
			head = head[:i]
		}
		s.Path, s.Cut = strings.TrimSpace(head), true
		return s
	case strings.HasPrefix(body, Mark):
		s.Unchanged = true
		if i := strings.LastIndex(head, " lines "); i >= 0 {
			head = head[:i]
		}
		s.Path = strings.TrimSpace(head)
		return s
	case strings.HasPrefix(body, failMark):
		s.Failed = true
		s.Path, _, _ = strings.Cut(s.Path, ": ")
		return s
	}
	if i := strings.LastIndex(head, " (lines "); i >= 0 {
		s.Path = strings.TrimSpace(head[:i])
		if j := strings.LastIndexByte(head, '/'); j > i {
			s.Total, _ = number(head[j+1:])
		}
	} else if kind, name, ok := strings.Cut(head, documentEnd); ok && kind != "" && kind == strings.ToUpper(kind) {
		s.Path, s.Cut = strings.TrimSpace(name), true // PDF and the like
		return s
	}
	s.Said = s.Total
	n := &h.lines
	if n.end(rest); len(n.lines) == 0 {
		rest = strings.TrimSpace(rest)
		s.Failed = strings.HasPrefix(rest, "Error:")
		s.Unchanged = unchanged(rest)
		if rest == "" {
			s.First = 1
		} else {
			s.Cut, s.Total = !s.Failed && !s.Unchanged, 0
		}
		if s.Cut {
			s.Beside = rest
		}
		return s
	}
	s.Beside = strings.TrimSpace(rest[n.size:])
	s.First, s.Lines, s.Cut = n.first, n.lines, n.clip
	// This total counts what is after the file's final line end, so it
	// proves nothing unless the end is shown.
	switch last := len(s.Lines) - 1; {
	case s.Cut || s.First+last != s.Total:
		s.Total = 0
	case s.Lines[last] == "" && s.Total > 1:
		s.Lines, s.Total, s.Final = s.Lines[:last], s.Total-1, FinalNewline
	default:
		s.Final = FinalNone
	}
	return s
}

// matching returns the index of the target that a result calls name, or -1.
func matching(targets []Target, name string) int {
	for i, t := range targets {
		if t.Path == name {
			return i
		}
	}
	name = strings.TrimPrefix(name, "./")
	for i, t := range targets {
		base := strings.TrimPrefix(t.Path, "./")
		if base != "" && name != "" && (base == name || strings.HasSuffix(name, "/"+base) || strings.HasSuffix(base, "/"+name)) {
			return i
		}
	}
	return -1
}

// readMany reads several files, each under a heading: "--- path ---" (Gemini,
// Qwen) or "path:" with "---" between them (the MCP filesystem server). They
// are distinguished only if every target has its heading exactly once, in order.
func readMany(in *reading) (Result, bool) {
	targets, text := in.action.Targets, in.text
	if len(targets) == 0 || len(targets) > 100 {
		return Result{}, len(targets) > 0
	}
	type heading struct{ start, body int }
	heads := make([]heading, len(targets))
	at := 0
	dashes := strings.HasPrefix(text, "--- ")
	for i, t := range targets {
		mark := "\n---\n" + t.Path + ":"
		if dashes {
			mark = t.Path + " ---\n\n"
		} else if i == 0 {
			mark = t.Path + ":"
		}
		if strings.Count(text, mark) != 1 && (i > 0 || dashes) || i == 0 && !dashes && !strings.HasPrefix(text, mark) {
			return Result{}, len(targets) > 1
		}
		j := strings.Index(text, mark)
		if j < at {
			return Result{}, len(targets) > 1
		}
		start := j
		if dashes {
			if start = strings.LastIndexByte(text[:j], '\n') + 1; !strings.HasPrefix(text[start:], "--- ") {
				return Result{}, len(targets) > 1
			}
		} else if i > 0 {
			start += len("\n---\n")
		}
		heads[i] = heading{start, j + len(mark)}
		at = heads[i].body
	}
	out := Result{Failed: true}
	for i, t := range targets {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1].start
		}
		s := Section{Path: t.Path, Start: heads[i].start, End: end}
		if dashes {
			body, after, _ := strings.Cut(text[heads[i].body:end], "\n--- End of content ---")
			body = strings.TrimSuffix(body, "\n") // one of the two after a file may be its own
			s.content(strings.TrimSuffix(body, "\n"), Target{}, nil)
			s.Said, s.Final, s.Beside = 0, FinalUnknown, strings.TrimSpace(after)
		} else {
			body := strings.TrimSuffix(text[heads[i].body:end], "\n---\n")
			if s.Failed = strings.HasPrefix(body, " Error - "); !s.Failed {
				s.content(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(body, " "), "\n"), "\n"), Target{}, nil)
			}
		}
		if len(targets) == 1 {
			s.Beside = joinNotes(text[:s.Start], s.Beside)
		}
		out.Failed = out.Failed && s.Failed
		out.Sections = append(out.Sections, s)
	}
	return out, true
}
