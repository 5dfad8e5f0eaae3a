package dialect

import "strings"

// Results that are JSON: of Cline, and of stet's own tools.

// element is one entry of the JSON array that Cline answers with.
type element struct {
	start, end int    // the inside of the string "result" in the text
	result     string // decoded
	beside     string // what the entry holds next to it
	failed     bool
}

// elements reads [{"query":…,"result":…,"success":…},…].
func elements(text string) ([]element, bool) {
	list, ok := items(text)
	if !ok {
		return nil, false
	}
	out := make([]element, 0, len(list))
	for _, x := range list {
		o, ok := object(x.val)
		if !ok {
			return nil, false
		}
		e := element{start: -1}
		for _, m := range o {
			if m.key != "result" || e.start >= 0 {
				continue
			}
			if e.result, ok = str(m.val); !ok {
				return nil, false
			}
			e.start = x.at + m.at + 1
			e.end = e.start + len(m.val) - 2
		}
		if e.start < 0 {
			return nil, false
		}
		success, _ := o.get("success")
		e.failed = success == "false"
		e.beside = o.others("query", "result", "success")
		out = append(out, e)
	}
	return out, true
}

// showingNote begins Cline's note below lines that are not the whole file.
const showingNote = "[Showing lines "

// middleCut is what Cline leaves where it cut out the middle of a result.
const middleCut = "\n\n...[truncated "

// readFiles reads Cline's answer to read_files: one element per file.
func readFiles(in *reading) (Result, bool) {
	list, ok := elements(in.text)
	targets := in.action.Targets
	if !ok || len(list) == 0 || len(list) != len(targets) {
		return Result{}, ok
	}
	out := Result{Failed: true}
	for i, e := range list {
		s := Section{Path: targets[i].Path, Start: e.start, End: e.end, Failed: e.failed}
		if !s.Failed {
			s.element(e.result, targets[i])
			s.Beside = joinNotes(s.Beside, e.beside)
			out.Failed = false
		}
		out.Sections = append(out.Sections, s)
	}
	return out, true
}

// element reads the numbered lines of one file.
func (s *Section) element(text string, t Target) {
	if text == "" {
		if s.First = max(t.First, 1); t.First > 1 {
			s.Cut = true // past the end, as far as is known
		}
		return
	}
	n, ok := readNumbered(text, " | ")
	if !ok {
		s.Cut = true
		return
	}
	s.First, s.Lines, s.Cut = n.first, n.lines, n.clip
	note := strings.TrimLeft(text[n.size:], "\n")
	footer := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.HasPrefix(footer, showingNote) {
		s.Said = numberAfter(footer, " of ")
	}
	switch {
	case strings.HasPrefix(note, showingNote) && strings.Count(note, "\n") == 0:
		s.Total = s.Said
		s.Cut = s.Cut || numberAfter(note, "-") != s.First+len(s.Lines)-1
	case note != "":
		s.Cut, s.Beside = true, strings.TrimSpace(note)
	case t.Last == 0 || s.First+len(s.Lines)-1 < t.Last:
		s.Total = s.First + len(s.Lines) - 1
		s.Said = s.Total
	}
	if s.Cut {
		s.Total = 0
		if i := strings.Index(text, middleCut); i >= 0 && len(s.Lines) > 0 {
			s.Lines = s.Lines[:max(0, strings.Count(text[:i], "\n"))]
		}
	}
}

// readCommands reads Cline's answer to run_commands: one element per command.
func readCommands(in *reading) (Result, bool) {
	list, ok := elements(in.text)
	excerpts := in.action.excerpts
	if !ok || len(list) == 0 || len(list) != len(excerpts) {
		return Result{}, ok
	}
	out := Result{Failed: true}
	for i, e := range list {
		s := Section{Path: excerpts[i].path, Start: e.start, End: e.end, Failed: e.failed}
		if !s.Failed {
			s.output(e.result, excerpts[i], output{exact: true, cut: strings.Contains(e.result, middleCut) || silent(e.result), beside: e.beside})
			out.Failed = out.Failed && s.Failed
		}
		out.Sections = append(out.Sections, s)
	}
	return out, true
}

// readEnvelope reads the standard envelope {status, data, text, stats,
// context} of Read.
func readEnvelope(in *reading) (Result, bool) {
	o, ok := object(in.text)
	if !ok {
		return Result{}, false
	}
	raw, ok := o.get("data")
	if !ok {
		return Result{}, false
	}
	data, ok := object(raw)
	if !ok {
		return Result{}, false
	}
	content, ok := data.get("content")
	if !ok {
		return Result{}, false
	}
	s := in.section()
	if st, ok := o.get("stats"); ok {
		if stats, ok := object(st); ok {
			s.Total, _ = stats.number("total_lines")
			s.Total = max(s.Total, 0)
			s.Said = s.Total
		}
	}
	s.Beside = except(o.text("text"), "Read ", "(Took ", "[Truncated: ")
	text, _ := str(content)
	s.First = max(in.target().First, 1)
	if text != "" {
		n, ok := readNumbered(text, " | ")
		if !ok {
			return Result{}, false
		}
		s.First, s.Lines, s.Cut = n.first, n.lines, n.clip || n.size < len(text)
	}
	if _, ok := data.get("fallback_encoding"); ok {
		s.Cut = true // what could not be decoded is not shown
	}
	return oneSection(s)
}

// readOperation reads a FileOperationResult {success, content, …}.
func readOperation(in *reading) (Result, bool) {
	if !strings.HasPrefix(in.text, "{") || len(in.action.Targets) != 1 {
		return Result{}, false
	}
	o, ok := object(in.text)
	if !ok {
		return Result{}, false
	}
	if _, ok := o.get("success"); !ok {
		return Result{}, false
	}
	content, ok := o.get("content")
	if !ok {
		return Result{}, false
	}
	text, ok := str(content)
	if !ok {
		return Result{}, false
	}
	if len(text) < 2000 && unchanged(text) {
		s := in.section()
		s.Unchanged = true
		return Result{Unchanged: true, Sections: []Section{s}}, true
	}
	s := in.section()
	s.content(text, in.target(), nil)
	s.Beside = o.others("success", "content", "lines_read", "bytes_written", "backup_path")
	return oneSection(s)
}
