package dialect

import "strings"

// ownRows are stet's own tools, and those of the documents they come from.
var ownRows = []Row{
	{
		Name: "stet/Read", Tools: []string{"Read"}, Op: "read", Lacks: []string{"file_path", "filepath"}, Has: []string{"path"},
		Path: []string{"path"}, Offset: "start_line", Base: 1, Limit: "limit", Most: 500, Also: []string{"start_column"},
		Formats: []string{"envelope", "numbered"},
	},
	{
		Name: "stet/filesystem-read", Tools: []string{"filesystem-read"}, Op: "read",
		Path: []string{"filePath"}, Start: "startLine", End: "endLine",
		Formats: []string{"sections", "numbered"},
	},
	{
		Name: "stet/filesystem-edit", Tools: []string{"filesystem-edit", "filesystem-edit_search"}, Op: "edit",
		Path: []string{"filePath"}, Old: []string{"searchContent"}, New: []string{"replaceContent", "newContent"},
	},
	{
		Name: "stet/filesystem-create", Tools: []string{"filesystem-create", "filesystem-write"}, Op: "write",
		Path: []string{"filePath"}, Content: []string{"content"},
	},
	{
		Name: "stet/terminal-execute", Tools: []string{"terminal-execute"}, Op: "shell", Command: []string{"command"},
		Dir: []string{"workingDirectory", "cwd"},
	},
	{
		Name: "stet/write_file", Tools: []string{"write_file"}, Op: "write", Has: []string{"path", "content"},
		Path: []string{"path"}, Content: []string{"content"}, Also: []string{"encoding", "create_dirs", "backup"},
	},
	{
		Name: "stet/edit_file", Tools: []string{"edit_file"}, Op: "edit", Has: []string{"path", "edits"},
		Path: []string{"path"}, Edits: []string{"edits"},
		Old: []string{"old_text", "oldText", "old_string", "old"}, New: []string{"new_text", "newText", "new_string", "new"}, All: "replace_all",
		Also: []string{"dryRun", "encoding"},
	},
	{
		Name: "stet/list_files", Tools: []string{"list_files", "LS"}, Op: "list", Lacks: []string{"recursive"}, Has: []string{"path"},
		Path: []string{"path"}, Also: []string{"ignore"},
	},
	{
		Name: "stet/list_files recursive", Tools: []string{"list_files"}, Op: "list", Has: []string{"path", "recursive"},
		Path: []string{"path"},
	},
}

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
	return Result{Sections: []Section{s}}, true
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
	return Result{Sections: []Section{s}}, true
}
