package dialect

import "strings"

// clineRows are the tools of Cline.
var clineRows = []Row{
	{
		Name: "cline/read_files", Tools: []string{"read_files"}, Op: "read", Path: []string{"files", "paths", "path"},
		Start: "start_line", End: "end_line", Formats: []string{"files"},
	},
	{
		Name: "cline/editor insert", Tools: []string{"editor"}, Op: "edit", Has: []string{"path", "insert_line"},
		Path: []string{"path"}, New: []string{"new_text"}, Also: []string{"old_text"},
	},
	{
		Name: "cline/editor", Tools: []string{"editor"}, Op: "edit", Has: []string{"path", "old_text"},
		Path: []string{"path"}, Old: []string{"old_text"}, New: []string{"new_text"},
	},
	{
		Name: "cline/editor write", Tools: []string{"editor"}, Op: "write", Has: []string{"path", "new_text"},
		Path: []string{"path"}, Content: []string{"new_text"},
	},
	{
		Name: "cline/replace_in_file", Tools: []string{"replace_in_file"}, Op: "edit",
		Path: []string{"path"}, Patch: []string{"diff"}, Also: []string{"task_progress"},
	},
	{
		Name: "cline/write_to_file", Tools: []string{"write_to_file"}, Op: "write",
		Path: []string{"path"}, Content: []string{"content"}, Also: []string{"line_count", "task_progress"},
	},
	{
		Name: "cline/run_commands", Tools: []string{"run_commands"}, Op: "shell", Command: []string{"commands"},
		Formats: []string{"commands"},
	},
	{
		Name: "cline/execute_command", Tools: []string{"execute_command"}, Op: "shell", Command: []string{"command"},
		Dir: []string{"cwd"}, Also: []string{"requires_approval", "timeout"},
	},
}

// element is one entry of the JSON array that Cline answers with.
type element struct {
	start, end int    // the inside of the string "result" in the text
	result     string // decoded
	failed     bool
}

// elements reads [{"query":…,"result":…,"success":…},…].
func elements(text string) ([]element, bool) {
	list, ok := array(text)
	if !ok {
		return nil, false
	}
	out := make([]element, 0, len(list))
	at := 0
	for _, raw := range list {
		o, ok := object(raw)
		if !ok {
			return nil, false
		}
		v, ok := o.get("result")
		if !ok || v[0] != '"' {
			return nil, false
		}
		i := at + strings.Index(text[at:], raw)
		at = i + len(raw)
		j := i
		for k := range o {
			// The members follow each other, so each stands behind the last.
			j += strings.Index(text[j:], o[k].val)
			if o[k].key == "result" {
				break
			}
			j += len(o[k].val)
		}
		success, _ := o.get("success")
		e := element{start: j + 1, end: j + len(v) - 1, failed: success == "false"}
		e.result, _ = str(v)
		out = append(out, e)
	}
	return out, true
}

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
			s.Cut = true // past the end, as far as one can tell
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
	switch {
	case strings.HasPrefix(note, "[Showing lines ") && strings.Count(note, "\n") == 0:
		s.Total = numberAfter(note, " of ")
		s.Cut = s.Cut || numberAfter(note, "-") != s.First+len(s.Lines)-1
	case note != "":
		s.Cut = true
	case t.Last == 0 || s.First+len(s.Lines)-1 < t.Last:
		s.Total = s.First + len(s.Lines) - 1
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
	pulls := in.action.pulls
	if !ok || len(list) == 0 || len(list) != len(pulls) {
		return Result{}, ok
	}
	out := Result{Failed: true}
	for i, e := range list {
		s := Section{Path: pulls[i].path, Start: e.start, End: e.end, Failed: e.failed}
		if !s.Failed {
			s.output(e.result, pulls[i], output{exact: true, cut: strings.Contains(e.result, middleCut)})
			out.Failed = out.Failed && s.Failed
		}
		out.Sections = append(out.Sections, s)
	}
	return out, true
}
