package dialect

import (
	"slices"
	"strings"
	"testing"
)

// TRIM-3: the ways in which agents say that a call failed.
func TestFailed(t *testing.T) {
	const read, edit = `{"file_path":"/p/a.go"}`, `{"file_path":"/p/a.go","old_string":"a","new_string":"b"}`
	for _, tt := range []struct {
		name, args, text string
		isError          bool
		want             bool
	}{
		{"filesystem-read", `{"filePath":"a.ts"}`, "Error: ENOENT: no such file or directory, open 'a.ts'", false, true},
		{"filesystem-read", `{"filePath":"a.ts"}`, "📄 a.ts (lines 1-1/1)\n1→x", true, true}, // status error
		{"filesystem-read", `{"filePath":"a.ts"}`, "📄 a.ts (lines 1-1/1)\n1→Error: x", false, false},
		{"Read", `{"path":"a.go"}`, `{"status":"error","data":{},"text":"File 'a.go' does not exist.","stats":{},"context":{},"error":{"code":"NOT_FOUND"}}`, false, true},
		{"Read", `{"path":"a.go"}`, `{"status":"success","data":{"content":"   1 | \"status\":\"error\"\n","truncated":false},"stats":{"total_lines":1}}`, false, false},
		{"read_file", `{"path":"a.go"}`, `{"success":false,"error":"file_not_found: a.go"}`, false, true},
		{"read_file", `{"path":"a.go"}`, "Error: File not found: a.go", false, true},
		{"Read", read, "Error: begins so", false, true},
		{"Read", read, "     1→Error: is the first line", false, false},
		{"Read", read, "1\tError: is the first line", false, false},
		{"Read", read, "<tool_use_error>File does not exist.</tool_use_error>", false, true},
		{"Read", read, "File does not exist. Note: your current working directory is /p.", true, true},
		{"Read", read, "EISDIR: illegal operation on a directory, read '/p'", true, true},
		{"Read", read, "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>", false, true},
		{"read", `{"filePath":"/p/a.go"}`, "File not found: /p/a.go", false, true},
		{"read_file", read, "File not found: /p/a.go", false, true},
		{"read_file", read, "Path is a directory, not a file: /p/a.go", false, true},
		{"read_file", read, "Cannot display content of binary file: a.go", false, true},
		{"read_file", read, `{"error":"File not found"}`, false, true},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"","error":"Error reading file: ENOENT","success":false}]`, false, true},
		{"Read", `{"filepath":"a"}`, "Error executing tool Read: File does not exist: a", false, true},
		{"view", `{"path":"a"}`, "File too large to read at once (42.1 KB).", false, true},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "ERROR:\nInvalid `path` parameter: a.", false, true},
		{"Edit", edit, "<tool_use_error>String to replace not found in file.</tool_use_error>", false, true},
		{"Edit", edit, "The file /p/a.go has been updated.", false, false},
		{"edit", `{"filePath":"a","oldString":"x","newString":"y"}`, "Could not find oldString in the file.", false, true},
		{"edit", edit, "Failed to edit, 0 occurrences found for old_string in /p/a.go.", false, true},
		{"edit", edit, "The file: /p/a.go has been updated. Showing lines 1-9 of 124 from the edited file:\n\n---\n\nError: x", false, false},
		{"MultiEdit", `{"file_path":"a","edits":[]}`, `Edit at index 0: string not found in file: "x"`, false, true},
		{"editor", `{"path":"a","old_text":"x","new_text":"y"}`, `{"query":"edit:a","result":"","error":"Editor operation failed","success":false}`, false, true},
		{"editor", `{"path":"a","old_text":"x","new_text":"y"}`, `{"query":"edit:a","result":"Edited a","success":true}`, false, false},
		{"apply_patch", "*** Begin Patch\n*** Delete File: a\n*** End Patch", "apply_patch verification failed: Failed to find expected lines in a:\nx", false, true},
		{"apply_patch", "*** Begin Patch\n*** Delete File: a\n*** End Patch", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nD a", false, false},
		{"exec_command", `{"cmd":"make"}`, strings.Replace(codexHead, "code 0", "code 2", 1) + "make: error\n", false, true},
		{"exec_command", `{"cmd":"make"}`, codexHead + "Process exited with code 2\n", false, false},
		{"Bash", `{"command":"make"}`, "Exit code 2\nmake: error", true, true},
		{"Bash", `{"command":"make"}`, "Error executing tool Bash: Error (exit code 2): x", false, true},
		{"bash", `{"command":"make"}`, "FAIL\n\n\nCommand exited with code 1", false, true},
		{"run_shell_command", `{"command":"make"}`, "Command: make\nOutput: x\nError: (none)\nExit Code: 2\nSignal: (none)", false, true},
		{"no such tool", `{}`, "Error: no such tool", false, true},
		{"no such tool", `{}`, "fine", false, false},
	} {
		a := Default().Action(tt.name, tt.args)
		res := Default().Result(a, tt.text, tt.isError)
		if res.Failed != tt.want {
			t.Errorf("%s %s %q: failed %v, want %v", tt.name, tt.args, tt.text, res.Failed, tt.want)
		}
		for _, s := range res.Sections {
			if tt.want && !s.Failed {
				t.Errorf("%s %q: a section did not fail: %+v", tt.name, tt.text, s)
			}
		}
	}
}

// The agents' own stubs. The content to which they point must stay.
func TestUnchanged(t *testing.T) {
	for _, tt := range []struct{ name, args, text string }{
		{"Read", `{"file_path":"a.go"}`, "Wasted call — file unchanged since your last Read. Use what you have."},
		{"Read", `{"file_path":"a.go"}`, "File unchanged since last read. The content is still current."},
		{"read_file", `{"file_path":"a.go"}`, "[File a.go unchanged since last read in this session — the full content was provided earlier.]"},
		{"read_file", `{"path":"a.go"}`, "[File previously read: a.go. Content unchanged since last read.]"}, // TRK-6
		{"read_file", `{"path":"a.go"}`, `{"success":true,"content":"[File previously read: a.go. Content unchanged since last read.]"}`},
	} {
		res := Default().Result(Default().Action(tt.name, tt.args), tt.text, false)
		if !res.Unchanged || res.Failed || len(res.Sections) != 1 || !res.Sections[0].Unchanged || res.Sections[0].Path != "a.go" || len(res.Sections[0].Lines) != 0 {
			t.Errorf("%s %q: %+v", tt.name, tt.text, res)
		}
	}
}

// A result that a tool has cut must never count as the whole.
func TestCut(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, tt := range []struct {
		name, args, text string
		first, lines     int
	}{
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: " + long + "... (line truncated to 2000 chars)\n2: y\n\n(End of file - total 2 lines)\n</content>", 1, 2},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n2: y\n3", 1, 2},
		{"Read", `{"file_path":"a"}`, "     1→" + long + "... [truncated]\n     2→y", 1, 2},
		{"Read", `{"file_path":"a"}`, "1\tx\n2\ty\n\n... [50 lines truncated] ...\n\n90\tz", 1, 2},
		{"read_file", `{"file_path":"a"}`, "Showing lines 1-3 of 9 total lines.\n\n---\n\nx\ny\nz... [truncated]", 1, 2},
		{"read_file", `{"file_path":"a"}`, "Showing lines 1-3 of 9 total lines.\n\n---\n\nx\ny", 1, 2},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"  1 | x\n  2 | y\n  3 \n\n...[truncated 40084 chars]...\n\n82\n131 | z\n\n[Showing lines 1-131 of 131.]","success":true}]`, 1, 2},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y\n3 | tor\n\n...[truncated 84 chars]...\n\nn\n131 | z","success":true}]`, 1, 2},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | ` + long + ` [line truncated]\n2 | y","success":true}]`, 1, 2},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "Here's the result of running `cat -n` on a:\n     1\tx\n     2\ty\n     3\tzz<response clipped><NOTE>Only a part.</NOTE>\n", 1, 2},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "<NOTE>This file is too large to display entirely.</NOTE>\n     1 x\n     9 y\n", 0, 0},
		{"Read", `{"filepath":"a"}`, "Content of a:\nx\ny\n(truncated: 900 lines)", 1, 2},
		{"read", `{"path":"a"}`, "[Line 1 is 90 KB, exceeds the limit.]", 0, 0},
		{"read_file", `{"filePath":"a","startLine":1,"endLine":9}`, "File: `a`. Lines 1 to 9 (9 lines total): \n```go\nx\n```", 1, 1},
		{"Read", `{"path":"a"}`, `{"status":"partial","data":{"content":"   1 | x\n","fallback_encoding":"replace"},"stats":{"total_lines":1}}`, 1, 1},
		{"filesystem-read", `{"filePath":"a"}`, "📄 a (lines 1-3/3)\nsomething else", 0, 0},
	} {
		res := Default().Result(Default().Action(tt.name, tt.args), tt.text, false)
		if len(res.Sections) != 1 || res.Failed {
			t.Errorf("%s %.90q: %+v", tt.name, tt.text, res)
			continue
		}
		s := res.Sections[0]
		if !s.Cut || s.First != tt.first || len(s.Lines) != tt.lines {
			t.Errorf("%s %.90q: first %d, %d lines, cut %v; want first %d, %d lines, cut", tt.name, tt.text, s.First, len(s.Lines), s.Cut, tt.first, tt.lines)
		}
	}
}

// The view of Copilot shows only the lines. In older versions it shows all of them with numbers.
func TestBareView(t *testing.T) {
	for _, tt := range []struct {
		args, text string
		first      int
		lines      []string
		cut        bool
	}{
		{`{"path":"a"}`, "func main() {\n\tx()\n}\n", 1, []string{"func main() {", "\tx()", "}"}, false},
		{`{"path":"a","view_range":[8,9]}`, "\tx()\n}", 8, []string{"\tx()", "}"}, false},
		{`{"path":"a","view_range":[8,-1]}`, "\tx()\n}", 8, []string{"\tx()", "}"}, false},
		{`{"path":"a"}`, "1. func main() {\n2. \tx()\n3. }\n4. ", 1, []string{"func main() {", "\tx()", "}"}, false},
		{`{"path":"a","view_range":[8,9]}`, "8. \tx()\n9. }", 8, []string{"\tx()", "}"}, false},
		{`{"path":"a"}`, "1. a list\n2. of two\n\nand text\n", 1, []string{"1. a list", "2. of two", "", "and text"}, false},
		{`{"path":"a","view_range":[8,9]}`, "1. a list\n2. of two", 8, []string{"1. a list", "2. of two"}, false},
		{`{"path":"a","view_range":[1,90]}`, "a line\nanother\na thi\n\n[Output truncated. Use view_range=[3, ...] to go on. File has at least 81 lines.]", 1, []string{"a line", "another"}, true},
		{`{"path":"a","view_range":[4,90]}`, "a line\nanother\n\n[Output truncated. Use view_range=[6, ...] to go on.]", 4, []string{"a line", "another"}, false},
		{`{"path":"a"}`, "\ndiff --git a/home/a b/home/a\nindex 0000000..0000000 100644\n--- a/home/a\n+++ b/home/a\n@@ -1,0 +1,0 @@\n\n", 0, nil, true},
	} {
		s := only(t, "view", tt.args, tt.text)
		if s.First != tt.first || !slices.Equal(s.Lines, tt.lines) || s.Cut != tt.cut {
			t.Errorf("%s %q: %q from %d, cut %v", tt.args, tt.text, s.Lines, s.First, s.Cut)
		}
	}
	if s := only(t, "view", `{"path":"a"}`, "a b\nc d\n"); s.Total != 2 || s.Final != FinalNewline {
		t.Errorf("a whole file: %+v", s)
	}
	if s := only(t, "view", `{"path":"a","view_range":[1,9]}`, "a b\nc d\n"); s.Total != 0 || s.Final != FinalUnknown {
		t.Errorf("a range: %+v", s)
	}
	for _, text := range []string{"Path does not exist", "view_range out of bounds", "File too large to read at once (37.1 KB). Consider the grep tool."} {
		if res := Default().Result(Default().Action("view", `{"path":"a"}`), text, false); !res.Failed {
			t.Errorf("%s: %+v", text, res)
		}
	}
	if s := only(t, "view", `{"path":"src"}`, "a.go\nb.go\n"); !s.Dir {
		t.Errorf("a directory: %+v", s)
	}
}

// A page that ends at a line end is not cut: lines a to b are complete.
func TestPages(t *testing.T) {
	for _, tt := range []struct {
		name, args, text    string
		first, lines, total int
	}{
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n2: y\n\n(Output capped at 50 KB. Showing lines 1-2. Use offset=3 to continue.)\n</content>\n\n<system-reminder>\nx\n</system-reminder>", 1, 2, 0},
		{"read", `{"path":"a"}`, "x\ny\n\n[Showing lines 1-2 of 90 (50KB limit). Use offset=3 to continue.]", 1, 2, 0},
		{"view", `{"path":"a","view_range":[5,90]}`, "5. x\n6. y\n\n[Output truncated. Use view_range=[7, ...] to continue reading. File has at least 80 lines.]", 5, 2, 0},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y\n\n[Showing lines 1-2 of 26. Use start_line/end_line to read other sections.]","success":true}]`, 1, 2, 26},
		{"Read", `{"file_path":"a","offset":0,"limit":2}`, "     0→x\n     1→y", 1, 2, 0}, // with offset 0 the tool counts from 0
		{"open", `{"path":"a","line_number":5}`, "[File: /p/a (9 lines total)]\r\n(4 more lines above)\r\n5:x\r\n6:y\r\n(3 more lines below)\r\n", 5, 2, 9},
		{"read_file", `{"file_path":"a","offset":40,"limit":5}`, "Showing lines 41-41 of 7 total lines.\n\n---\n\n", 41, 0, 0},
		{"read_file", `{"file_path":"a"}`, "(read_file completed with no output)", 1, 0, 0},
		{"read_text_file", `{"path":"a","tail":2}`, "x\ny\n", 0, 2, 0},
		{"Read", `{"path":"a","start_line":5,"limit":2}`, `{"status":"partial","data":{"content":"   5 | x\n   6 | y\n","truncated":true},"stats":{"total_lines":9}}`, 5, 2, 9},
		{"Read", `{"path":"a"}`, `{"status":"success","data":{"content":"","truncated":false},"stats":{"total_lines":0}}`, 1, 0, 0},
	} {
		res := Default().Result(Default().Action(tt.name, tt.args), tt.text, false)
		if len(res.Sections) != 1 || res.Failed {
			t.Errorf("%s %.90q: %+v", tt.name, tt.text, res)
			continue
		}
		s := res.Sections[0]
		if s.Cut != (s.First == 0) || s.First != tt.first || len(s.Lines) != tt.lines || s.Total != tt.total {
			t.Errorf("%s %.90q: first %d, %d lines of %d, cut %v; want first %d, %d lines of %d", tt.name, tt.text, s.First, len(s.Lines), s.Total, s.Cut, tt.first, tt.lines, tt.total)
		}
		for _, l := range s.Lines {
			if l != "x" && l != "y" {
				t.Errorf("%s: line %q", tt.name, l)
			}
		}
	}
}
