package dialect

import "strings"

// mcpRows are the tools of the MCP filesystem server, and read_file as other
// agents and stet have it.
var mcpRows = []Row{
	{
		Name: "mcp-filesystem/read_text_file", Tools: []string{"read_text_file", "read_file"}, Op: "read", Has: []string{"path", "tail"},
		Path: []string{"path"}, Tail: "tail", Also: []string{"head"}, Formats: []string{"raw"},
	},
	{
		Name: "mcp-filesystem/read_text_file head", Tools: []string{"read_text_file", "read_file"}, Op: "read", Has: []string{"path", "head"},
		Path: []string{"path"}, Limit: "head", Formats: []string{"raw"},
	},
	{
		Name: "stet/read_file", Tools: []string{"read_file", "read_text_file"}, Op: "read", Lacks: []string{"filePath", "offset"}, Has: []string{"path"},
		Path: []string{"path"}, Start: "start_line", End: "end_line", Also: []string{"encoding", "task_progress"},
		Formats: []string{"operation", "showing", "window", "raw"},
	},
	{
		Name: "any/read_file", Tools: []string{"read_file", "fetch_lines"}, Op: "read", Has: []string{"path"}, Lacks: []string{"filePath"},
		Path: []string{"path"}, Offset: "offset", Base: 1, Limit: "limit", Formats: []string{"numbered"},
	},
	{
		Name: "any/read_file target", Tools: []string{"read_file"}, Op: "read", Has: []string{"target_file"}, Path: []string{"target_file"},
		Start: "start_line_one_indexed", End: "end_line_one_indexed_inclusive", Offset: "offset", Base: 1, Limit: "limit",
		Also: []string{"should_read_entire_file", "explanation"}, Formats: []string{"numbered"},
	},
	{
		Name: "mcp-filesystem/read_multiple_files", Tools: []string{"read_multiple_files"}, Op: "read", Path: []string{"paths"},
		Formats: []string{"many"},
	},
	{
		Name: "mcp-filesystem/write_file", Tools: []string{"write_file"}, Op: "write", Path: []string{"path"}, Content: []string{"content"},
	},
	{
		Name: "mcp-filesystem/list_directory", Tools: []string{"list_directory", "list_directory_with_sizes"}, Op: "list", Has: []string{"path"},
		Path: []string{"path"}, Also: []string{"sortBy"},
	},
	{
		Name: "mcp-filesystem/directory_tree", Tools: []string{"directory_tree"}, Op: "list", Path: []string{"path"}, Also: []string{"excludePatterns"},
	},
}

// vscodeRows are the tools of Copilot in VS Code.
var vscodeRows = []Row{
	{
		Name: "vscode/read_file", Tools: []string{"read_file", "copilot_readFile"}, Op: "read", Has: []string{"filePath"}, Path: []string{"filePath"},
		Start: "startLine", End: "endLine", Offset: "offset", Base: 1, Limit: "limit", Most: 2000,
		Also: []string{"startLineNumberBaseOne", "endLineNumberBaseOne"}, Formats: []string{"fenced"},
	},
	{
		Name: "vscode/replace_string_in_file", Tools: []string{"replace_string_in_file"}, Op: "edit", Path: []string{"filePath"},
		Old: []string{"oldString"}, New: []string{"newString"}, Also: []string{"explanation"},
	},
	{
		Name: "vscode/insert_edit_into_file", Tools: []string{"insert_edit_into_file"}, Op: "edit", Path: []string{"filePath"},
		Also: []string{"explanation", "code"},
	},
	{
		Name: "vscode/create_file", Tools: []string{"create_file"}, Op: "write", Path: []string{"filePath"}, Content: []string{"content"},
	},
	{
		Name: "vscode/list_dir", Tools: []string{"list_dir"}, Op: "list", Path: []string{"path"},
	},
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
	s.Beside = besides(except(head, "File: `"), tail)
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
	return Result{Sections: []Section{s}}, true
}
