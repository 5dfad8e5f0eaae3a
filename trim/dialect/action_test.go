package dialect

import (
	"slices"
	"strings"
	"testing"
)

// TestAction has a call for every row of the table of agents, and what the call does.
func TestAction(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		op         Op
		row        string
		targets    []Target
	}{
		// stet's own tools (READ-1, FILE-1).
		{"Read", `{"path":"a.go","start_line":5,"limit":10}`, Read, "stet/Read", []Target{{"a.go", 5, 14}}},
		{"Read", `{"path":"a.go"}`, Read, "stet/Read", []Target{{"a.go", 0, 0}}},
		{"read_file", `{"path":"a.go","start_line":5,"end_line":9,"encoding":"utf-8"}`, Read, "stet/read_file", []Target{{"a.go", 5, 9}}},
		{"write_file", `{"path":"a.go","content":"x","create_dirs":true}`, Write, "stet/write_file", []Target{{"a.go", 0, 0}}},
		{"edit_file", `{"path":"a.go","edits":[{"old_text":"a","new_text":"b"}]}`, Edit, "stet/edit_file", []Target{{"a.go", 0, 0}}},
		{"list_files", `{"path":"src"}`, List, "stet/list_files", []Target{{"src", 0, 0}}},
		// TRIM-6: a string, an array of strings, an array of objects; empty elements are skipped.
		{"filesystem-read", `{"filePath":"a.ts","startLine":2,"endLine":4}`, Read, "stet/filesystem-read", []Target{{"a.ts", 2, 4}}},
		{"filesystem-read", `{"filePath":["a.ts","","b.ts"]}`, Read, "stet/filesystem-read", []Target{{"a.ts", 0, 0}, {"b.ts", 0, 0}}},
		{"filesystem-read", `{"filePath":[{"path":"a.ts","startLine":1,"endLine":9},{"path":"b.ts"},{"path":""},null,7]}`, Read, "stet/filesystem-read", []Target{{"a.ts", 1, 9}, {"b.ts", 0, 0}}},
		// TRIM-9: no path.
		{"filesystem-read", `{"filePath":""}`, Read, "stet/filesystem-read", nil},
		{"filesystem-read", `{"filePath":null}`, Read, "stet/filesystem-read", nil},
		{"filesystem-read", `{"filePath":`, Read, "stet/filesystem-read", nil},
		{"filesystem-read", ``, Read, "stet/filesystem-read", nil},
		{"filesystem-read", `[]`, Read, "stet/filesystem-read", nil},
		{"Read", `{"file_path"`, Read, "stet/Read", nil},
		{"terminal-execute", `{"command":"make"}`, Shell, "stet/terminal-execute", nil},
		// Claude Code.
		{"Read", `{"file_path":"/p/a.go","offset":8,"limit":20}`, Read, "claude-code/Read", []Target{{"/p/a.go", 8, 27}}},
		{"Read", `{"file_path":"/p/a.go","offset":"8","limit":20.0}`, Read, "claude-code/Read", []Target{{"/p/a.go", 8, 27}}},
		{"Edit", `{"file_path":"/p/a.go","old_string":"a","new_string":"b"}`, Edit, "claude-code/Edit", []Target{{"/p/a.go", 0, 0}}},
		{"MultiEdit", `{"file_path":"/p/a.go","edits":[{"old_string":"a","new_string":"b"}]}`, Edit, "claude-code/MultiEdit", []Target{{"/p/a.go", 0, 0}}},
		{"Write", `{"file_path":"/p/a.go","content":"x"}`, Write, "claude-code/Write", []Target{{"/p/a.go", 0, 0}}},
		{"NotebookEdit", `{"notebook_path":"/p/a.ipynb","new_source":"x"}`, Edit, "claude-code/NotebookEdit", []Target{{"/p/a.ipynb", 0, 0}}},
		{"LS", `{"path":"/p"}`, List, "stet/list_files", []Target{{"/p", 0, 0}}},
		{"Grep", `{"pattern":"x","path":"/p"}`, Output, "any/search", nil},
		{"Glob", `{"pattern":"*.go"}`, Output, "any/names", nil},
		{"Bash", `{"command":"go test ./..."}`, Shell, "claude-code/Bash", nil},
		{"PowerShell", `{"command":"cat src\\a.go","description":"Show it","timeout":300000}`, Shell, "claude-code/PowerShell", nil},
		{"TaskOutput", `{"task_id":"b1","block":true,"timeout":300000}`, Output, "claude-code/TaskOutput", nil},
		{"BashOutput", `{"bash_id":"b1"}`, Output, "claude-code/TaskOutput", nil},
		// opencode.
		{"read", `{"filePath":"/p/a.go","offset":8,"limit":20}`, Read, "opencode/read", []Target{{"/p/a.go", 8, 27}}},
		{"edit", `{"filePath":"/p/a.go","oldString":"a","newString":"b"}`, Edit, "opencode/edit", []Target{{"/p/a.go", 0, 0}}},
		{"write", `{"filePath":"/p/a.go","content":"x"}`, Write, "opencode/write", []Target{{"/p/a.go", 0, 0}}},
		{"list", `{"path":"/p"}`, List, "opencode/list", []Target{{"/p", 0, 0}}},
		{"bash", `{"command":"make","workdir":"/p"}`, Shell, "opencode/bash", nil},
		// Codex.
		{"exec_command", `{"cmd":"sed -n '5,9p' a.go","workdir":"/p"}`, Read, "codex/exec_command", []Target{{"/p/a.go", 5, 9}}},
		{"shell", `{"command":["bash","-lc","cat a.go"],"workdir":"/p"}`, Read, "codex/shell", []Target{{"/p/a.go", 1, 0}}},
		{"shell", `{"command":["cat","a.go"]}`, Read, "codex/shell", []Target{{"a.go", 1, 0}}},
		{"shell", `{"command":["go","vet"]}`, Shell, "codex/shell", nil},
		{"local_shell", `{"command":["bash","-lc","head -n 5 a.go"],"working_directory":"/p"}`, Read, "codex/shell", []Target{{"/p/a.go", 1, 5}}},
		{"exec", `const r = await tools.exec_command({cmd:"cat a.go","workdir":"/p"}); text(r.output)`, Read, "codex/exec_command", []Target{{"/p/a.go", 1, 0}}},
		{"exec", `const r = await tools.exec_command({cmd:"cat a.go"}); text(r.output + r.output)`, Shell, "codex/exec", nil},
		{"exec", `const p = await tools.apply_patch("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"); text(p)`, Shell, "codex/exec", nil},
		{"exec", `{"code":"text(await tools.exec_command({cmd:'cat a.go'}))"}`, Shell, "codex/exec", nil},
		{"write_stdin", `{"session_id":7,"chars":"cat a.go\n","yield_time_ms":1000,"max_output_tokens":6000}`, Shell, "codex/write_stdin", nil},
		{"write_stdin", `{"session_id":7}`, Shell, "codex/write_stdin", nil},
		{"wait", `{"cell_id":"12","yield_time_ms":20000,"max_tokens":20000}`, Output, "codex/wait", nil},
		{"wait", `{"seconds":12}`, Other, "", nil},
		{"apply_patch", "*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch\n", Edit, "codex/apply_patch", []Target{{"a.go", 0, 0}}},
		{"apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** Delete File: b.go\n*** End Patch"}`, Edit, "codex/apply_patch", []Target{{"a.go", 0, 0}, {"b.go", 0, 0}}},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: n.md\n+x\n*** End Patch"}`, Write, "codex/apply_patch", []Target{{"n.md", 0, 0}}},
		{"exec_command", `{"cmd":"apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch\nPATCH","workdir":"/p"}`, Edit, "codex/exec_command", []Target{{"/p/a.go", 0, 0}}},
		// Qwen and Gemini: offset is counted from 0.
		{"read_file", `{"file_path":"/p/a.go","offset":7,"limit":20}`, Read, "gemini/read_file", []Target{{"/p/a.go", 8, 27}}},
		{"read_file", `{"file_path":"/p/a.go","start_line":8,"end_line":27}`, Read, "gemini/read_file", []Target{{"/p/a.go", 8, 27}}},
		{"read_file", `{"absolute_path":"/p/a.go"}`, Read, "gemini/read_file absolute", []Target{{"/p/a.go", 0, 0}}},
		{"read_many_files", `{"paths":["a.go","b.go"]}`, Read, "gemini/read_many_files", []Target{{"a.go", 0, 0}, {"b.go", 0, 0}}},
		{"replace", `{"file_path":"a.go","old_string":"a","new_string":"b","expected_replacements":1}`, Edit, "gemini/replace", []Target{{"a.go", 0, 0}}},
		{"edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`, Edit, "gemini/replace", []Target{{"a.go", 0, 0}}},
		{"write_file", `{"file_path":"a.go","content":"x"}`, Write, "gemini/write_file", []Target{{"a.go", 0, 0}}},
		{"list_directory", `{"path":"src"}`, List, "gemini/list_directory", []Target{{"src", 0, 0}}},
		{"run_shell_command", `{"command":"make"}`, Shell, "gemini/run_shell_command", nil},
		{"tool_call", `{"name":"mcp__files__read_text_file","arguments":{"path":"a.go"}}`, Read, "stet/read_file", []Target{{"a.go", 0, 0}}},
		{"tool_call", `{"name":"tool_call","arguments":{}}`, Other, "", nil},
		// Cline.
		{"read_files", `{"files":[{"path":"/p/a.go"},{"path":"/p/b.go","start_line":8,"end_line":27}]}`, Read, "cline/read_files", []Target{{"/p/a.go", 0, 0}, {"/p/b.go", 8, 27}}},
		{"editor", `{"path":"/p/a.go","old_text":"a","new_text":"b"}`, Edit, "cline/editor", []Target{{"/p/a.go", 0, 0}}},
		{"editor", `{"path":"/p/a.go","new_text":"b","insert_line":4}`, Edit, "cline/editor insert", []Target{{"/p/a.go", 0, 0}}},
		{"editor", `{"path":"/p/a.go","old_text":null,"new_text":"b"}`, Write, "cline/editor write", []Target{{"/p/a.go", 0, 0}}},
		{"write_to_file", `{"path":"a.go","content":"x"}`, Write, "cline/write_to_file", []Target{{"a.go", 0, 0}}},
		{"replace_in_file", `{"path":"a.go","diff":"------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n"}`, Edit, "cline/replace_in_file", []Target{{"a.go", 0, 0}}},
		{"run_commands", `{"commands":["cat a.go","head -n 3 b.go"]}`, Read, "cline/run_commands", []Target{{"a.go", 1, 0}, {"b.go", 1, 3}}},
		{"run_commands", `{"commands":["cat a.go","make"]}`, Shell, "cline/run_commands", nil},
		// Continue.
		{"Read", `{"filepath":"/p/a.go"}`, Read, "continue/Read", []Target{{"/p/a.go", 0, 0}}},
		{"Write", `{"filepath":"/p/a.go","content":"x"}`, Write, "continue/Write", []Target{{"/p/a.go", 0, 0}}},
		{"List", `{"dirpath":"/p"}`, List, "continue/List", []Target{{"/p", 0, 0}}},
		// SWE-agent, OpenHands, Copilot CLI.
		{"str_replace_editor", `{"command":"view","path":"/p/a.go","view_range":[8,27]}`, Read, "editor/view", []Target{{"/p/a.go", 8, 27}}},
		{"str_replace_editor", `{"command":"view","path":"/p/a.go","view_range":[8,-1]}`, Read, "editor/view", []Target{{"/p/a.go", 8, 0}}},
		{"str_replace_editor", `{"command":"view","path":"/p/a.go","view_range":"[8, 27]"}`, Read, "editor/view", []Target{{"/p/a.go", 8, 27}}},
		{"str_replace_editor", `{"command":"str_replace","path":"/p/a.go","old_str":"a","new_str":"b"}`, Edit, "editor/str_replace", []Target{{"/p/a.go", 0, 0}}},
		{"str_replace_editor", `{"command":"create","path":"/p/a.go","file_text":"x"}`, Write, "editor/create", []Target{{"/p/a.go", 0, 0}}},
		{"str_replace_editor", `{"command":"insert","path":"/p/a.go","insert_line":3,"new_str":"b"}`, Edit, "editor/insert", []Target{{"/p/a.go", 0, 0}}},
		{"str_replace_editor", `{"command":"undo_edit","path":"/p/a.go"}`, Edit, "editor/undo_edit", []Target{{"/p/a.go", 0, 0}}},
		{"str_replace_editor", `{"command":"dance","path":"/p/a.go"}`, Other, "", nil},
		{"execute_bash", `{"command":"cat /p/a.go"}`, Read, "openhands/execute_bash", []Target{{"/p/a.go", 1, 0}}},
		{"open", `{"path":"/p/a.go","line_number":9}`, Read, "swe-agent/open", []Target{{"/p/a.go", 0, 0}}},
		{"scroll_down", `{}`, Read, "swe-agent/window", nil},
		{"view", `{"path":"/p/a.go","view_range":[1,9]}`, Read, "copilot-cli/view", []Target{{"/p/a.go", 1, 9}}},
		{"create", `{"path":"/p/a.go","file_text":"x"}`, Write, "copilot-cli/create", []Target{{"/p/a.go", 0, 0}}},
		{"bash", `{"command":"cat a.go","description":"Show it","initial_wait":30}`, Read, "opencode/bash", []Target{{"a.go", 1, 0}}},
		{"powershell", `{"command":"cat a.go","description":"Show it"}`, Shell, "copilot-cli/powershell", nil},
		{"read_bash", `{"shellId":"0","delay":5}`, Output, "copilot-cli/read_bash", nil},
		{"write_bash", `{"shellId":"0","input":"y{enter}","delay":5}`, Shell, "copilot-cli/write_bash", nil},
		// VS Code, pi, the MCP filesystem server.
		{"read_file", `{"filePath":"/p/a.go","startLine":8,"endLine":27}`, Read, "vscode/read_file", []Target{{"/p/a.go", 8, 27}}},
		{"replace_string_in_file", `{"filePath":"/p/a.go","oldString":"a","newString":"b"}`, Edit, "vscode/replace_string_in_file", []Target{{"/p/a.go", 0, 0}}},
		{"read", `{"path":"a.go","offset":8,"limit":20}`, Read, "pi/read", []Target{{"a.go", 8, 27}}},
		{"edit", `{"path":"a.go","edits":[{"oldText":"a","newText":"b"}]}`, Edit, "pi/edit", []Target{{"a.go", 0, 0}}},
		{"read_multiple_files", `{"paths":["a.go","b.go"]}`, Read, "mcp-filesystem/read_multiple_files", []Target{{"a.go", 0, 0}, {"b.go", 0, 0}}},
		{"read_text_file", `{"path":"a.go","head":9}`, Read, "mcp-filesystem/read_text_file head", []Target{{"a.go", 0, 9}}},
		{"directory_tree", `{"path":"src"}`, List, "mcp-filesystem/directory_tree", []Target{{"src", 0, 0}}},
		// Names with the prefix of an MCP server, in the form of each agent.
		{"mcp__files__read_text_file", `{"path":"a.go"}`, Read, "stet/read_file", []Target{{"a.go", 0, 0}}},
		{"files_read_text_file", `{"path":"a.go"}`, Read, "stet/read_file", []Target{{"a.go", 0, 0}}},
		{"files__edit_file", `{"path":"a.go","edits":[{"oldText":"a","newText":"b"}]}`, Edit, "stet/edit_file", []Target{{"a.go", 0, 0}}},
		{"mcp_files_write_file", `{"path":"a.go","content":"x"}`, Write, "stet/write_file", []Target{{"a.go", 0, 0}}},
		{"notes_read", `{"page":7}`, Other, "", nil},
		{"notes_edit", `{"path":"a","oldText":"x","newText":"y","colour":"red"}`, Other, "", nil},
		{"", `{}`, Other, "", nil},
	} {
		a := Default().Action(tt.name, tt.args)
		if a.Op != tt.op || a.Row != tt.row || !slices.Equal(a.Targets, tt.targets) {
			t.Errorf("%s %s:\n got op %d, row %q, %v\nwant op %d, row %q, %v", tt.name, tt.args, a.Op, a.Row, a.Targets, tt.op, tt.row, tt.targets)
		}
	}
}

// The result of a script that shows all that its command returned says whether the command failed.
func TestScriptSaysExitCode(t *testing.T) {
	a := Default().Action("exec", "const r = await tools.exec_command({cmd:\"go test ./a\"}); text(JSON.stringify(r))")
	for text, failed := range map[string]bool{
		"Script completed\nWall time 0.3 seconds\nOutput:\n\n{\"chunk_id\":\"d\",\"exit_code\":1,\"output\":\"FAIL\\n\"}": true,
		"Script completed\nWall time 0.3 seconds\nOutput:\n\n{\"chunk_id\":\"d\",\"exit_code\":0,\"output\":\"ok\\n\"}":   false,
		"Script completed\nWall time 0.3 seconds\nOutput:\n\n{\"session_id\":7,\"output\":\"\"}":                          false,
	} {
		if r := Default().Result(a, text, false); r.Failed != failed {
			t.Errorf("%q: failed %v", text, r.Failed)
		}
	}
}

// stet cannot know what a command in another language does, so it counts as one that may change something. Once is set for a tool
// that shows an output only once.
func TestOpaqueAndOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		args            string
		command         string
		once, mayChange bool
	}{
		"PowerShell":  {`{"command":"ls"}`, "ls", false, true},
		"exec":        {"text(1)", "text(1)", false, true},
		"exec ":       {"text((await tools.write_stdin({session_id:7,chars:''})).output)", "text((await tools.write_stdin({session_id:7,chars:''})).output)", true, true},
		"write_stdin": {`{"session_id":7,"chars":"y\n"}`, "y\n", true, true},
		"write_bash":  {`{"shellId":"0","input":"y"}`, "y", true, true},
		"read_bash":   {`{"shellId":"0","delay":5}`, `{"shellId":"0","delay":5}`, true, false},
		"TaskOutput":  {`{"task_id":"b1"}`, `{"task_id":"b1"}`, true, false},
		"wait":        {`{"cell_id":"1"}`, `{"cell_id":"1"}`, true, false},
		"Bash":        {`{"command":"ls"}`, "ls", false, false},
	} {
		a := Default().Action(strings.TrimSpace(name), tt.args)
		if a.Command != tt.command || a.Once != tt.once || !a.MayShowFiles("ok") && name != "Bash" {
			t.Errorf("%s: command %q, once %v, may show files %v", name, a.Command, a.Once, a.MayShowFiles("ok"))
		}
		if a.Op == Shell && a.Changes() != tt.mayChange {
			t.Errorf("%s: changes %v", name, a.Changes())
		}
	}
}

// change is a Replacement without its place.
type change struct {
	path, old, new string
	all            bool
}

func changesOf(a Action) []change {
	var out []change
	for _, r := range a.Edits {
		out = append(out, change{r.Path, r.Old, r.New, r.All})
	}
	return out
}

func TestEdits(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@ func f\n one\n-two\n+2\n three\n@@\n-x\n+y\n*** Update File: b.go\n*** Move to: c.go\n@@\n+only\n*** Add File: n.md\n+# N\n+\n+end\n*** End of File\n*** End Patch"
	for _, tt := range []struct {
		name, args string
		want       []change
	}{
		{"Edit", `{"file_path":"a","old_string":"x\n\"y\"","new_string":"\u00e9\ud83d\ude00","replace_all":true}`, []change{{"a", "x\n\"y\"", "é😀", true}}},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":"","replace_all":true}]}`, []change{{"a", "x", "y", false}, {"a", "p", "", true}}},
		{"edit", `{"filePath":"a","oldString":"x","newString":"y","replaceAll":true}`, []change{{"a", "x", "y", true}}},
		{"replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, []change{{"a", "x", "y", false}}},
		{"str_replace_editor", `{"command":"str_replace","path":"a","old_str":"x"}`, []change{{"a", "x", "", false}}},
		{"str_replace_editor", `{"command":"insert","path":"a","insert_line":2,"new_str":"y"}`, []change{{"a", "", "y", false}}},
		{"edit_file", `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`, []change{{"a", "x", "y", false}}},
		{"edit", `{"path":"a","edits":"[{\"oldText\":\"x\",\"newText\":\"y\"}]"}`, []change{{"a", "x", "y", false}}},
		{"editor", `{"path":"a","old_text":"x","new_text":"y"}`, []change{{"a", "x", "y", false}}},
		{"replace_in_file", `{"path":"a","diff":"<<<<<<< SEARCH\nx\n\n=======\ny\n>>>>>>> REPLACE\n\n------- SEARCH\np\n=======\n+++++++ REPLACE"}`, []change{{"a", "x\n", "y", false}, {"a", "p", "", false}}},
		{"apply_patch", patch, []change{
			{"a.go", "one\ntwo\nthree", "one\n2\nthree", false}, {"a.go", "x", "y", false}, {"b.go", "", "only", false}, {"n.md", "", "# N\n\nend\n", false},
		}},
	} {
		a := Default().Action(tt.name, tt.args)
		if got := changesOf(a); a.Op != Edit || !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: op %d\n got %+v\nwant %+v", tt.name, tt.args, a.Op, got, tt.want)
		}
	}
	a := Default().Action("apply_patch", patch)
	if want := []Target{{"a.go", 0, 0}, {"b.go", 0, 0}, {"c.go", 0, 0}, {"n.md", 0, 0}}; !slices.Equal(a.Targets, want) {
		t.Errorf("targets %v, want %v", a.Targets, want)
	}
}

// A text that leaves the arguments of a call is found by its position, because another argument may contain the same text. The
// action of the arguments without it differs only in this text.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		known      bool
	}{
		{"Edit", `{"file_path":"a","old_string":"x\n","new_string":"x\n"}`, true},
		{"Edit", `{ "new_string" : "é" , "old_string" : "\u00e9" , "file_path" : "a" }`, true},
		{"MultiEdit", `{"file_path":"a","edits":[ {"old_string":"x","new_string":"x"}, {"new_string":"x","old_string":"x"}]}`, true},
		{"edit", `{"path":"a","edits":"[{\"oldText\":\"x\",\"newText\":\"x\"}]"}`, false},
		{"Edit", `"{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"x\"}"`, false},
		{"tool_call", `{"name":"edit","arguments":{"file_path":"a","old_string":"x","new_string":"x"}}`, true},
		{"tool_call", `{"name":"edit","arguments":"{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"x\"}"}`, false},
		{"Edit", `{"file_path":"a","old_string":7,"new_string":"7"}`, false},
		{"Edit", `{"file_path":"a","new_string":"x"}`, false},
		{"apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch", false},
		{"Write", `{"file_path":"x","content":"x"}`, true},
		{"Task", `{"description":"x","prompt":"x","subagent_type":"x"}`, true},
		{"tool_call", `{"name":"write_file","arguments":{"file_path":"x","content":"x"}}`, true},
		{"apply_patch", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", false},
	} {
		whole := Default().Action(tt.name, tt.args)
		check := func(at Span, put func(a *Action)) {
			if at.Known() != tt.known {
				t.Errorf("%s %s: the place is %v", tt.name, tt.args, at)
			}
			if !at.Known() {
				return
			}
			got, want := Default().Action(tt.name, tt.args[:at.Start]+`"gone"`+tt.args[at.End:]), whole
			want.Edits = slices.Clone(want.Edits)
			put(&want)
			if got.Content != want.Content || !slices.Equal(got.Targets, want.Targets) || !slices.Equal(changesOf(got), changesOf(want)) {
				t.Errorf("%s %s without %v:\n got %+v\nwant %+v", tt.name, tt.args, at, got, want)
			}
		}
		if whole.Op != Edit {
			check(whole.ContentAt, func(a *Action) { a.Content = "gone" })
		}
		for i, r := range whole.Edits {
			check(r.OldAt, func(a *Action) { a.Edits[i].Old = "gone" })
		}
	}
}

func TestContent(t *testing.T) {
	for name, args := range map[string]string{
		"Write":              `{"file_path":"a","content":"x\ny\n"}`,
		"write":              `{"filePath":"a","content":"x\ny\n"}`,
		"write_file":         `{"path":"a","content":"x\ny\n"}`,
		"str_replace_editor": `{"command":"create","path":"a","file_text":"x\ny\n"}`,
		"apply_patch":        "*** Begin Patch\n*** Add File: a\n+x\n+y\n*** End Patch",
		"editor":             `{"path":"a","new_text":"x\ny\n"}`,
	} {
		if a := Default().Action(name, args); a.Op != Write || a.Content != "x\ny\n" {
			t.Errorf("%s: op %d, content %q", name, a.Op, a.Content)
		}
	}
}
