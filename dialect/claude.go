package dialect

// claudeRows are the tools of Claude Code.
var claudeRows = []Row{
	{
		Name: "claude-code/Read", Tools: []string{"Read", "View"}, Op: "read", Has: []string{"file_path"},
		Path: []string{"file_path"}, Offset: "offset", Base: 1, Limit: "limit", Most: 2000, Also: []string{"pages"},
		Formats: []string{"pieces"},
		Errors:  []string{"<system-reminder>Warning"},
	},
	{
		Name: "claude-code/Edit", Tools: []string{"Edit"}, Op: "edit", Has: []string{"file_path", "new_string"},
		Path: []string{"file_path"}, Old: []string{"old_string"}, New: []string{"new_string"}, All: "replace_all",
	},
	{
		Name: "claude-code/MultiEdit", Tools: []string{"MultiEdit", "Edit", "multi_edit"}, Op: "edit", Has: []string{"edits"},
		Path: []string{"file_path", "filepath", "path"}, Edits: []string{"edits"},
		Old: []string{"old_string", "oldText"}, New: []string{"new_string", "newText"}, All: "replace_all",
	},
	{
		Name: "claude-code/Write", Tools: []string{"Write"}, Op: "write", Has: []string{"file_path"},
		Path: []string{"file_path"}, Content: []string{"content"},
	},
	{
		Name: "claude-code/NotebookEdit", Tools: []string{"NotebookEdit", "notebook_edit"}, Op: "edit",
		Path: []string{"notebook_path"}, Also: []string{"new_source", "cell_id", "cell_type", "edit_mode"},
	},
	{
		Name: "claude-code/NotebookRead", Tools: []string{"NotebookRead"}, Op: "read",
		Path: []string{"notebook_path"}, Also: []string{"cell_id"}, Formats: []string{"pieces"},
	},
	{
		Name: "claude-code/LS", Tools: []string{"LS"}, Op: "list",
		Path: []string{"path"}, Also: []string{"ignore"},
	},
	{
		Name: "claude-code/Bash", Tools: []string{"Bash"}, Op: "shell",
		Command: []string{"command"}, Dir: []string{"cwd", "workdir"},
		Also: []string{"description", "timeout", "run_in_background"},
	},
}

// continueRows are the tools of Continue.
var continueRows = []Row{
	{
		Name: "continue/Read", Tools: []string{"Read", "read_file"}, Op: "read", Has: []string{"filepath"},
		Path: []string{"filepath"}, Start: "startLine", End: "endLine", Formats: []string{"contentof", "raw"},
	},
	{
		Name: "continue/Edit", Tools: []string{"Edit", "edit_existing_file"}, Op: "edit", Has: []string{"filepath"},
		Path: []string{"filepath"}, Old: []string{"old_string"}, New: []string{"new_string"}, All: "replace_all",
	},
	{
		Name: "continue/Write", Tools: []string{"Write", "create_new_file"}, Op: "write", Has: []string{"filepath"},
		Path: []string{"filepath"}, Content: []string{"content", "contents"},
	},
	{
		Name: "continue/List", Tools: []string{"List"}, Op: "list", Path: []string{"dirpath", "path"},
	},
}
