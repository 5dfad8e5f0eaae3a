package dialect

import (
	"fmt"
	"strings"
	"testing"
)

// told writes each section as "path first [lines] flags = text", where text is the part of the result that the section covers.
func told(text string, r Result) string {
	var b strings.Builder
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "%s %d %q", s.Path, s.First, s.Lines)
		for flag, on := range map[string]bool{" failed": s.Failed} {
			if on {
				b.WriteString(flag)
			}
		}
		if s.Unchanged {
			b.WriteString(" unchanged")
		}
		if s.Cut {
			b.WriteString(" cut")
		}
		fmt.Fprintf(&b, " = %q\n", text[s.Start:s.End])
	}
	return b.String()
}

// TRIM-5, TRIM-6: a batch is split by file. Symbols and notebook entries are not lines of a file. A failed section keeps its
// text.
func TestBatch(t *testing.T) {
	for _, tt := range []struct{ name, args, text, want string }{
		{
			"filesystem-read", `{"filePath":["a.ts","b.ts"]}`,
			"📄 a.ts (lines 1-2/9)\n1→x\n2→y\n\nSymbols: f (line 1)\n\n📄 b.ts (lines 5-5/5)\n5→z",
			`a.ts 1 ["x" "y"] = "📄 a.ts (lines 1-2/9)\n1→x\n2→y\n\nSymbols: f (line 1)\n\n"` + "\n" +
				`b.ts 5 ["z"] = "📄 b.ts (lines 5-5/5)\n5→z"` + "\n",
		},
		{
			"filesystem-read", `{"filePath":[{"path":"./a.ts"},{"path":"gone.ts"}]}`,
			"📄 a.ts (lines 1-1/9)\n1→📄 no header\n\n📄 gone.ts\nError: File not found: gone.ts",
			`./a.ts 1 ["📄 no header"] = "📄 a.ts (lines 1-1/9)\n1→📄 no header\n\n"` + "\n" +
				`gone.ts 0 [] failed = "📄 gone.ts\nError: File not found: gone.ts"` + "\n",
		},
		{
			"filesystem-read", `{"filePath":["a.ts","gone.ts","b.ts"]}`,
			"📄 a.ts (lines 1-1/9)\n1→x\n\n❌ gone.ts: ENOENT\n\n📄 b.ts (lines 1-1/9)\n1→y",
			`a.ts 1 ["x"] = "📄 a.ts (lines 1-1/9)\n1→x\n\n"` + "\n" + `gone.ts 0 [] failed = "❌ gone.ts: ENOENT\n\n"` + "\n" +
				`b.ts 1 ["y"] = "📄 b.ts (lines 1-1/9)\n1→y"` + "\n",
		},
		{ // one file was left out before
			"filesystem-read", `{"filePath":["a.ts","b.ts"]}`,
			"[stet: a.ts lines 1-2 unchanged: shown above by call_1 (lines 1-2).]\n📄 b.ts (lines 1-1/9)\n1→y",
			`a.ts 0 [] unchanged = "[stet: a.ts lines 1-2 unchanged: shown above by call_1 (lines 1-2).]\n"` + "\n" +
				`b.ts 1 ["y"] = "📄 b.ts (lines 1-1/9)\n1→y"` + "\n",
		},
		{ // the first file was not asked for
			"filesystem-read", `{"filePath":["a.ts","b.ts","c.ts"]}`, "📄 somewhere.ts (lines 1-1/9)\n1→x\n\n📄 b.ts (lines 1-1/9)\n1→y", "",
		},
		{
			"read_files", `{"files":[{"path":"a"},{"path":"b"},{"path":"c"}]}`,
			`[{"query":"a","result":"1 | \"x\"","success":true}, {"query":"b","result":"","error":"no","success":false},{"success":true,"result":"7 | 1 | \"x\"","query":"c:7-7"}]`,
			`a 1 ["\"x\""] = "1 | \\\"x\\\""` + "\n" + `b 0 [] failed = ""` + "\n" + `c 7 ["1 | \"x\""] = "7 | 1 | \\\"x\\\""` + "\n",
		},
		{"read_files", `{"files":[{"path":"a"},{"path":"b"}]}`, `[{"query":"a","result":"1 | x","success":true}]`, ""},
		{
			"read_multiple_files", `{"paths":["a","b","c"]}`, "a:\nx\ny\n\n\n---\nb: Error - no such file\n---\nc:\nz\n",
			`a 1 ["x" "y"] = "a:\nx\ny\n\n\n---\n"` + "\n" + `b 0 [] failed = "b: Error - no such file\n---\n"` + "\n" + `c 1 ["z"] = "c:\nz\n"` + "\n",
		},
		{"read_multiple_files", `{"paths":["a","b"]}`, "a:\nx\n---\nb:\ny\n\n---\nb:\nz\n", ""}, // one file stands twice, so the sections cannot be assigned
		{
			"read_many_files", `{"paths":["a","b"]}`, "--- /p/a ---\n\nx\n\n\n\n--- /p/b ---\n\ny\n\n\n--- End of content ---",
			`a 1 ["x" ""] = "--- /p/a ---\n\nx\n\n\n\n"` + "\n" + `b 1 ["y"] = "--- /p/b ---\n\ny\n\n\n--- End of content ---"` + "\n",
		},
		{
			"run_commands", `{"commands":["cat a","sed -n '2,3p' b"]}`, `[{"query":"cat a","result":"x\n","success":true},{"query":"sed","result":"y\nz\n","success":true}]`,
			`a 1 ["x"] = "x\\n"` + "\n" + `b 2 ["y" "z"] = "y\\nz\\n"` + "\n",
		},
	} {
		a := Default().Action(tt.name, tt.args)
		res := Default().Result(a, tt.text, false)
		if got := told(tt.text, res); a.Op != Read || res.Failed || got != tt.want {
			t.Errorf("%s %s: op %d, failed %v\n got %s\nwant %s", tt.name, tt.args, a.Op, res.Failed, got, tt.want)
		}
	}
}

// TRIM-8: a directory that was read, and a directory that was listed.
func TestDirectories(t *testing.T) {
	for _, tt := range []struct {
		name, args, text string
		op               Op
	}{
		{"read", `{"filePath":"src"}`, "<path>src</path>\n<type>directory</type>\n<entries>\na.go\nlib/\n\n(2 entries)\n</entries>", Read},
		{"view", `{"path":"src"}`, "a.go\nlib", Read},
		{"str_replace_editor", `{"command":"view","path":"src"}`, "Here's the files and directories up to 2 levels deep in src, excluding hidden items:\nsrc/a.go\n", Read},
		{"LS", `{"path":"src"}`, "- src/\n  - a.go\n", List},
		{"list_directory", `{"path":"src"}`, "[FILE] a.go\n[DIR] lib", List},
		{"ls", `{"path":"src"}`, "a.go\nlib/", List},
	} {
		a := Default().Action(tt.name, tt.args)
		res := Default().Result(a, tt.text, false)
		if a.Op != tt.op || len(res.Sections) != 1 || !res.Sections[0].Dir || res.Sections[0].Path != "src" || len(res.Sections[0].Lines) < 2 {
			t.Errorf("%s: op %d, %+v", tt.name, a.Op, res)
		}
	}
}

// TRIM-5, the second way: results are recognised by their form.
func TestByContent(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"📄 a.ts (lines 3-4/9)\n3→x\n4→y", `a.ts 3 ["x" "y"] = "📄 a.ts (lines 3-4/9)\n3→x\n4→y"` + "\n", true},
		{"📄 a.ts (lines 1-1/1)\n1→x\n\n📄 b.ts (lines 1-1/1)\n1→y", `a.ts 1 ["x"] = "📄 a.ts (lines 1-1/1)\n1→x\n\n"` + "\n" + `b.ts 1 ["y"] = "📄 b.ts (lines 1-1/1)\n1→y"` + "\n", true},
		{"   123→x\n   124→y", ` 123 ["x" "y"] = "   123→x\n   124→y"` + "\n", true},
		{"1\tx", "", false},
		{"see 📄 a.ts", "", false},
		{"", "", false},
	} {
		res, ok := Default().ByContent(tt.text)
		if got := told(tt.text, res); ok != tt.ok || got != tt.want {
			t.Errorf("%q: %v, got %s, want %s", tt.text, ok, got, tt.want)
		}
	}
}

// If a program made an Action without a Table, its result is read by the row that the Action names.
func TestActionByRow(t *testing.T) {
	a := Action{Op: Read, Row: "claude-code/Read", Targets: []Target{{Path: "a"}}}
	if res := Default().Result(a, "1\tx\n2\t", false); len(res.Sections) != 1 || len(res.Sections[0].Lines) != 1 || res.Sections[0].Total != 1 {
		t.Errorf("%+v", res)
	}
	a = Action{Op: Read, Row: "codex/exec_command", Command: "cat a", Targets: []Target{{Path: "a"}}}
	if res := Default().Result(a, codexHead+"x\n", false); len(res.Sections) != 1 || len(res.Sections[0].Lines) != 1 {
		t.Errorf("%+v", res)
	}
	if res := Default().Result(Action{Op: Read, Row: "no/such"}, "x", false); res.Failed || res.Sections != nil {
		t.Errorf("%+v", res)
	}
}
