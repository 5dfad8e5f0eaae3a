package dialect

import "strings"

// readEnvelope reads the standard envelope {status, data, text, stats,
// context} of Read (READ-2, READ-3).
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

// readOperation reads a FileOperationResult {success, content, …} (FILE-2).
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
