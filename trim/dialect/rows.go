package dialect

// The table: one row for each tool of each agent. Where two rows fit a call, the
// one that is first in its family counts, and families count in the order of
// defaultTable.

// ownRows are stet's own tools, and those of the documents they come from.
var ownRows = []Row{
	{
		Name: "stet/Read", Tools: []string{"Read"}, Op: "read", Lacks: []string{"file_path", "filepath"}, Has: []string{"path"},
		Path: []string{"path"}, Offset: "start_line", Base: 1, Limit: "limit", Most: 500, Also: []string{"start_column"},
		Formats: []string{"envelope", "numbered"}, EditsByText: true,
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

// claudeRows are the tools of Claude Code.
var claudeRows = []Row{
	{
		Name: "claude-code/Read", Tools: []string{"Read", "View"}, Op: "read", Has: []string{"file_path"},
		Path: []string{"file_path"}, Offset: "offset", Base: 1, Limit: "limit", Most: 2000, Also: []string{"pages"},
		Formats: []string{"pieces"}, EditsByText: true,
		Errors: []string{"<system-reminder>Warning"},
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
	{
		Name: "claude-code/PowerShell", Tools: []string{"PowerShell"}, Op: "shell", Opaque: true, Command: []string{"command"},
		Also: []string{"description", "timeout", "run_in_background"},
	},
	{
		Name: "claude-code/TaskOutput", Tools: []string{"TaskOutput", "BashOutput", "AgentOutputTool"}, Op: "output", Once: true,
		Also: []string{"task_id", "block", "timeout", "bash_id", "filter", "agentId", "wait_up_to"},
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

// opencodeRows are the tools of opencode.
var opencodeRows = []Row{
	{
		Name: "opencode/read", Tools: []string{"read"}, Op: "read", Has: []string{"filePath"},
		Path: []string{"filePath"}, Offset: "offset", Base: 1, Limit: "limit", Most: 2000,
		Formats: []string{"opencode"}, EditsByText: true,
	},
	{
		Name: "opencode/edit", Tools: []string{"edit"}, Op: "edit", Has: []string{"filePath"},
		Path: []string{"filePath"}, Old: []string{"oldString"}, New: []string{"newString"}, All: "replaceAll",
	},
	{
		Name: "opencode/multiedit", Tools: []string{"multiedit"}, Op: "edit",
		Path: []string{"filePath"}, Edits: []string{"edits"}, Old: []string{"oldString"}, New: []string{"newString"}, All: "replaceAll",
	},
	{
		Name: "opencode/write", Tools: []string{"write"}, Op: "write", Has: []string{"filePath"},
		Path: []string{"filePath"}, Content: []string{"content"},
	},
	{
		Name: "opencode/list", Tools: []string{"list", "ls"}, Op: "list", Path: []string{"path"}, Also: []string{"ignore", "limit"},
	},
	{
		Name: "opencode/bash", Tools: []string{"bash"}, Op: "shell", Command: []string{"command"},
		Dir: []string{"workdir", "cwd"}, Also: []string{"description", "timeout", "initial_wait", "mode", "sessionId", "async"},
	},
}

// codexRows are the tools of Codex.
var codexRows = []Row{
	{
		Name: "codex/exec_command", Tools: []string{"exec_command"}, Op: "shell", Command: []string{"cmd", "command"}, Dir: []string{"workdir"},
		Also: []string{"yield_time_ms", "max_output_tokens", "sandbox_permissions", "justification", "prefix_rule", "shell", "login", "tty"},
	},
	{
		Name: "codex/shell", Tools: []string{"shell", "shell_command", "container.exec", "local_shell", "local_shell_call"}, Op: "shell",
		Command: []string{"command", "cmd"}, Dir: []string{"workdir", "working_directory", "cwd"},
		Also: []string{"timeout_ms", "timeout", "with_escalated_permissions", "justification", "type", "env", "user", "login"},
	},
	{
		Name: "codex/exec", Tools: []string{"exec"}, Op: "shell", Opaque: true, Command: []string{"code", "script", "input"},
	},
	{
		Name: "codex/write_stdin", Tools: []string{"write_stdin"}, Op: "shell", Opaque: true, Once: true, Command: []string{"chars"},
		Has: []string{"session_id"}, Also: []string{"yield_time_ms", "max_output_tokens"},
	},
	{
		Name: "codex/wait", Tools: []string{"wait"}, Op: "output", Once: true, Has: []string{"cell_id"},
		Also: []string{"yield_time_ms", "max_tokens", "terminate"},
	},
	{
		Name: "codex/apply_patch", Tools: []string{"apply_patch"}, Op: "edit", Patch: []string{"input", "patch", "patchText", "command"}, Dir: []string{"workdir"},
	},
	{
		Name: "codex/read_file", Tools: []string{"read_file"}, Op: "read", Has: []string{"file_path", "mode"}, Path: []string{"file_path"},
		Offset: "offset", Base: 1, Limit: "limit", Most: 2000, Also: []string{"indentation"}, Formats: []string{"window"}, EditsByText: true,
	},
	{
		Name: "codex/list_dir", Tools: []string{"list_dir"}, Op: "list", Path: []string{"dir_path", "path"}, Also: []string{"offset", "limit", "depth"},
	},
}

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
		Dir: []string{"dir_path", "directory"}, Also: []string{"description", "is_background", "timeout", "delay_ms"},
	},
}

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

// editorRows are the tools of SWE-agent, OpenHands, Copilot CLI and others that
// share an editor of several commands, and SWE-agent's window onto a file.
var editorRows = []Row{
	{
		Name: "editor/view", Tools: editors, Op: "read", Is: map[string]string{"command": "view"}, Has: []string{"path"},
		Path: []string{"path"}, Range: "view_range", Also: editorArgs, Formats: []string{"view"},
	},
	{
		Name: "editor/str_replace", Tools: editors, Op: "edit", Is: map[string]string{"command": "str_replace"}, Has: []string{"path"},
		Path: []string{"path"}, Old: []string{"old_str"}, New: []string{"new_str"}, Also: editorArgs,
	},
	{
		Name: "editor/insert", Tools: editors, Op: "edit", Is: map[string]string{"command": "insert"}, Has: []string{"path"},
		Path: []string{"path"}, New: []string{"new_str", "insert_text"}, Also: append([]string{"insert_line"}, editorArgs...),
	},
	{
		Name: "editor/create", Tools: editors, Op: "write", Is: map[string]string{"command": "create"}, Has: []string{"path"},
		Path: []string{"path"}, Content: []string{"file_text"}, Also: editorArgs,
	},
	{
		Name: "editor/undo_edit", Tools: editors, Op: "edit", Is: map[string]string{"command": "undo_edit"}, Has: []string{"path"},
		Path: []string{"path"}, Also: editorArgs,
	},
	{
		Name: "copilot-cli/view", Tools: []string{"view"}, Op: "read", Has: []string{"path"},
		Path: []string{"path"}, Range: "view_range", Also: []string{"forceReadLargeFiles"}, Formats: []string{"bare"}, EditsByText: true,
		Errors: []string{"Path does not exist", "view_range out of bounds"},
	},
	{
		Name: "copilot-cli/read_bash", Tools: []string{"read_bash", "read_powershell"}, Op: "output", Once: true, Has: []string{"shellId"},
		Also: []string{"delay"},
	},
	{
		Name: "copilot-cli/write_bash", Tools: []string{"write_bash", "write_powershell"}, Op: "shell", Opaque: true, Once: true,
		Has: []string{"shellId"}, Command: []string{"input"}, Also: []string{"delay"},
	},
	{
		Name: "copilot-cli/powershell", Tools: []string{"powershell"}, Op: "shell", Opaque: true, Command: []string{"command"},
		Also: []string{"description", "timeout", "initial_wait", "mode", "shellId", "detach"},
	},
	{
		Name: "copilot-cli/edit", Tools: []string{"edit"}, Op: "edit", Has: []string{"path", "old_str"},
		Path: []string{"path"}, Old: []string{"old_str"}, New: []string{"new_str"},
	},
	{
		Name: "copilot-cli/create", Tools: []string{"create"}, Op: "write", Has: []string{"path", "file_text"},
		Path: []string{"path"}, Content: []string{"file_text"},
	},
	{
		Name: "openhands/execute_bash", Tools: []string{"execute_bash", "run_in_terminal", "terminal"}, Op: "shell", Command: []string{"command"},
		Also: []string{"is_input", "timeout", "security_risk", "explanation", "isBackground"},
	},
	{
		Name: "swe-agent/open", Tools: []string{"open"}, Op: "read", Has: []string{"path"},
		Path: []string{"path"}, Also: []string{"line_number"}, Formats: []string{"window"},
	},
	{
		Name: "swe-agent/window", Tools: []string{"goto", "scroll_up", "scroll_down"}, Op: "read",
		Path: []string{"path"}, Also: []string{"line_number"}, Formats: []string{"window"},
	},
	{
		Name: "swe-agent/edit", Tools: []string{"edit"}, Op: "edit", Has: []string{"search", "replace"}, Path: []string{"path"},
		Old: []string{"search"}, New: []string{"replace"}, All: "replace-all",
	},
}

var (
	editors    = []string{"str_replace_editor", "str_replace_based_edit_tool", "file_editor"}
	editorArgs = []string{"security_risk", "view_range", "old_str", "new_str", "file_text", "command"}
)

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

// piRows are the tools of pi.
var piRows = []Row{
	{
		Name: "pi/read", Tools: []string{"read"}, Op: "read", Has: []string{"path"}, Path: []string{"path"},
		Offset: "offset", Base: 1, Limit: "limit", Formats: []string{"noted"},
	},
	{
		Name: "pi/edit", Tools: []string{"edit"}, Op: "edit", Has: []string{"path", "edits"}, Path: []string{"path"},
		Edits: []string{"edits"}, Old: []string{"oldText"}, New: []string{"newText"},
	},
	{
		Name: "pi/edit single", Tools: []string{"edit"}, Op: "edit", Has: []string{"path", "oldText"}, Path: []string{"path"},
		Old: []string{"oldText"}, New: []string{"newText"},
	},
	{
		Name: "pi/write", Tools: []string{"write"}, Op: "write", Has: []string{"path", "content"}, Path: []string{"path"},
		Content: []string{"content"},
	},
}

// outputRows are tools whose results are no files: what a search found, a page
// of the web, what another agent reports, a plan that was agreed to.
var outputRows = []Row{
	{
		Name: "any/search", Op: "output",
		Tools: []string{
			"Grep", "grep", "rg", "search_file_content", "grep_search", "search_files", "search_dir", "search_file", "SearchText",
		},
	},
	{
		Name: "any/names", Op: "output",
		Tools: []string{"Glob", "glob", "glob_search", "file_glob_search", "find_files", "find_file", "FindFiles"},
	},
	{
		Name: "any/fetch", Op: "output",
		Tools: []string{"WebFetch", "WebSearch", "webfetch", "websearch", "web_fetch", "web_search", "google_web_search", "fetch_url_content"},
	},
	{
		Name: "any/agent", Op: "agent", Content: []string{"prompt", "message"},
		Tools: []string{"Agent", "Task", "task", "spawn_agent", "new_task", "runSubagent"},
	},
	{
		Name: "claude-code/ExitPlanMode", Tools: []string{"ExitPlanMode", "exit_plan_mode"}, Op: "output", Content: []string{"plan"},
		Also: []string{"allowedPrompts", "planFilePath"},
	},
}
