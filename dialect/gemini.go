package dialect

import "strings"

// geminiRows are the tools of Gemini CLI and Qwen Code.
var geminiRows = []Row{
	{
		Name: "gemini/read_file", Tools: []string{"read_file", "ReadFile"}, Op: "read", Has: []string{"file_path"},
		Path: []string{"file_path"}, Offset: "offset", Limit: "limit", Start: "start_line", End: "end_line", Most: 2000,
		Also: []string{"pages"}, Formats: []string{"showing", "raw"},
	},
	{
		Name: "gemini/read_file absolute", Tools: []string{"read_file"}, Op: "read", Has: []string{"absolute_path"},
		Path: []string{"absolute_path"}, Offset: "offset", Limit: "limit", Most: 2000, Formats: []string{"showing", "raw"},
	},
	{
		Name: "gemini/read_many_files", Tools: []string{"read_many_files"}, Op: "read",
		Path: []string{"paths", "include"}, Also: []string{"exclude", "recursive", "useDefaultExcludes", "file_filtering_options"},
		Formats: []string{"many"},
	},
	{
		Name: "gemini/replace", Tools: []string{"replace", "edit"}, Op: "edit", Has: []string{"file_path"},
		Path: []string{"file_path"}, Old: []string{"old_string"}, New: []string{"new_string"}, All: "replace_all",
		Also: []string{"instruction", "expected_replacements", "allow_multiple"},
	},
	{
		Name: "gemini/write_file", Tools: []string{"write_file"}, Op: "write", Has: []string{"file_path"},
		Path: []string{"file_path"}, Content: []string{"content"}, Also: []string{"record_as_artifact"},
	},
	{
		Name: "gemini/list_directory", Tools: []string{"list_directory"}, Op: "list",
		Path: []string{"dir_path", "path"}, Also: []string{"ignore", "file_filtering_options"},
	},
	{
		Name: "gemini/run_shell_command", Tools: []string{"run_shell_command"}, Op: "shell", Command: []string{"command"},
		Dir: []string{"dir_path", "directory"}, Also: []string{"description", "is_background", "timeout"},
	},
}

// showing is the header of a read that does not show the whole file. It may
// stand in a longer one that begins with IMPORTANT.
const showing = "Showing lines "

// readShowing reads "Showing lines a-b of N total lines", a rule, and the
// lines. N, and the last of the lines, count what stands behind the file's
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
	body, ok, frame := "", false, ""
	for _, rule := range []string{"\n---\n\n", "--- FILE CONTENT (truncated) ---\n"} {
		if i := strings.Index(head, rule); i > at {
			body, ok, frame = text[i+len(rule):], true, head[:i]
			break
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
	return Result{Sections: []Section{s}}, true
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
		s.Total, s.Said, s.Final = 0, 0, FinalUnknown
	}
	return Result{Sections: []Section{s}}, true
}
