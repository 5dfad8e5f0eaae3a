package dialect

import (
	"math/rand/v2"
	"testing"
)

// only returns the only section of a result.
func only(t *testing.T, name, args, text string) Section {
	t.Helper()
	res := Default().Result(Default().Action(name, args), text, false)
	if len(res.Sections) != 1 || res.Failed {
		t.Fatalf("%s %s %.90q: %+v", name, args, text, res)
	}
	return res.Sections[0]
}

// TRIM-16: stet recognises that a file has grown by the number of lines that the tool names, even if the shown lines are the
// same. Each tool counts in its own way.
func TestSaid(t *testing.T) {
	for _, tt := range []struct {
		name, args, text string
		want             int
	}{
		{"filesystem-read", `{"filePath":"a"}`, "📄 a (lines 1-2/2)\n1→x\n2→y", 2},
		{"filesystem-read", `{"filePath":"a"}`, "📄 a (lines 1-2/120)\n1→x\n2→y", 120},
		{"filesystem-read", `{"filePath":["a"]}`, "📄 a (lines 1-2/120) [Large file: 300MB]\n1→x\n2→y", 120},
		{"read_file", `{"file_path":"a"}`, "x\ny\n", 3},
		{"read_file", `{"file_path":"a"}`, "x\ny", 2},
		{"read_file", `{"file_path":"a","offset":0,"limit":2}`, "Showing lines 1-2 of 151 total lines.\n\n---\n\nx\ny", 151},
		{"read_file", `{"file_path":"a","start_line":1,"end_line":2}`, "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-2 of 151 total lines.\nAction: Go on.\n\n--- FILE CONTENT (truncated) ---\nx\ny", 151},
		{"read", `{"path":"a"}`, "x\ny\n", 3},
		{"read", `{"path":"a","limit":2}`, "x\ny\n\n[53 more lines in file. Use offset=3 to continue.]", 55},
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\ny\n\n[53 more lines in file. Use offset=6 to continue.]", 58},
		{"read", `{"path":"a"}`, "x\ny\n\n[Showing lines 1-2 of 90 (50KB limit). Use offset=3 to continue.]", 90},
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\ny", 5}, // without a note the end was reached
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\n", 5},  // an empty line after the last line end counts
		{"read", `{"path":"a"}`, "x\n... [truncated]", 0},
		{"Read", `{"file_path":"a"}`, "1\tx\n2\ty\n3\t", 3},
		{"Read", `{"file_path":"a","offset":2,"limit":9}`, "2\ty\n3\t", 3},
		{"Read", `{"file_path":"a","offset":1,"limit":2}`, "1\tx\n2\ty", 0},
		{"Read", `{"file_path":"a"}`, "1\tx\n\n... [50 lines truncated] ...", 0},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n\n(Showing lines 1-1 of 123. Use offset=2 to continue.)\n</content>", 123},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n\n(End of file - total 1 lines)\n</content>", 1},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y\n\n[Showing lines 1-2 of 26. Use more.]","success":true}]`, 26},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y","success":true}]`, 2},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n\n...[truncated 84 chars]...\n\n9 | y\n\n[Showing lines 1-9 of 26.]","success":true}]`, 26},
		{"open", `{"path":"a"}`, "[File: a (9 lines total)]\n5:x\n(4 more lines below)", 9},
		{"view", `{"path":"a"}`, "1. x\n2. y\n3. ", 3},
		{"view", `{"path":"a","view_range":[1,2]}`, "1. x\n2. y", 0},
		{"read_file", `{"filePath":"a","startLine":1,"endLine":1}`, "File: `a`. Lines 1 to 1 (9 lines total): \n```go\nx\n```", 9},
		{"Read", `{"path":"a"}`, `{"status":"partial","data":{"content":"   1 | x\n","truncated":true},"text":"Read 1 lines.","stats":{"total_lines":70}}`, 70},
		{"Read", `{"filepath":"a"}`, "Content of a:\nx\n", 2},
		{"exec_command", `{"cmd":"cat a"}`, codexHead + "x\ny\n", 2},
		{"exec_command", `{"cmd":"sed -n '1,2p' a"}`, codexHead + "x\ny\n", 0},
		{"exec_command", `{"cmd":"nl -ba a"}`, codexHead + "     1\tx\n", 1},
	} {
		if s := only(t, tt.name, tt.args, tt.text); s.Said != tt.want {
			t.Errorf("%s %s %.90q: said %d, want %d", tt.name, tt.args, tt.text, s.Said, tt.want)
		}
	}
}

// For every range of a file, a tool names the same number of lines. It names one more if a line was added.
func TestSaidAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	told := 0
	for range 60 {
		f := written{ended: r.IntN(2) > 0}
		for range 3 + r.IntN(9) {
			f.lines = append(f.lines, "x")
		}
		grown := written{append(append([]string(nil), f.lines...), "x"), f.ended}
		for i := range renderers {
			s := &renderers[i]
			said := sectionOf(t, s, f, 0, 0).Said
			if more := sectionOf(t, s, grown, 0, 0).Said; said == 0 || more != said+1 {
				t.Errorf("%s: %d lines said, with one more %d", s.name, said, more)
			}
			if !s.ranges {
				continue
			}
			a := 1 + r.IntN(len(f.lines))
			part := sectionOf(t, s, f, a, a+r.IntN(len(f.lines)-a+1)).Said
			if part != 0 && part != said {
				t.Errorf("%s, ended %v: a range says %d lines, the whole %d", s.name, f.ended, part, said)
			}
			told += min(part, 1)
		}
	}
	if told < 100 {
		t.Errorf("only %d ranges told the number of lines", told)
	}
}

// sectionOf returns the section for a read of lines a to b of f with the tool of s.
func sectionOf(t *testing.T, s *renderer, f written, a, b int) Section {
	t.Helper()
	name, args, text := s.show(f, a, b)
	return only(t, name, args, text)
}

// TRIM-5, TRIM-16: text beside the lines is returned in Beside, so that it is not lost with the lines. Headers, page notes and
// line ranges are not returned.
func TestBeside(t *testing.T) {
	const reminder = "<system-reminder>\nThe file was changed.\n</system-reminder>"
	for _, tt := range []struct{ name, args, text, want string }{
		{"Read", `{"file_path":"a"}`, "1\tx\n2\ty\n\n" + reminder + "\n", reminder},
		{"Read", `{"file_path":"a"}`, "1\tx\n2\ty\n3\t", ""},
		{"filesystem-read", `{"filePath":"a"}`, "📄 a (lines 1-1/9)\n1→x\n\nSymbols: f (line 1)\n\nNotes: 1. mind the gap\n", "Symbols: f (line 1)\n\nNotes: 1. mind the gap"},
		{"filesystem-read", `{"filePath":["a"]}`, "Two are gone.\n📄 a (lines 1-1/9)\n1→x\n", "Two are gone."},
		{"filesystem-read", `{"filePath":["a","b"]}`, "Two are gone.\n📄 a (lines 1-1/9)\n1→x\n", "Two are gone."},
		{"filesystem-read", `{"filePath":"a"}`, "📄 a (lines 1-1/9)\n1→x\n", ""},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n\n(End of file - total 1 lines)\n</content>\n\n" + reminder, reminder},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n\n(End of file - total 1 lines)\n</content>\nThis file has errors: line 1", "This file has errors: line 1"},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<note>Generated.</note>\n<content>\n1: x\n\n(Showing lines 1-1 of 9. Use offset=2 to continue.)\nMind it.\n</content>", "<note>Generated.</note>\nMind it."},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<type>file</type>\n<content>\n1: x\n\n(Showing lines 1-1 of 9. Use offset=2 to continue.)\n</content>", ""},
		{"read", `{"filePath":"a"}`, "<file>\n00001| x\n00002| \n\n(End of file - total 2 lines)\n</file>\n<diagnostics>one</diagnostics>", "<diagnostics>one</diagnostics>"},
		{"read_file", `{"file_path":"a"}`, "Showing lines 1-1 of 9 total lines. \nThis file is generated.\n\n---\n\nx", "This file is generated."},
		{"read_file", `{"file_path":"a"}`, "Showing lines 1-1 of 9 total lines.\n\n---\n\nx", ""},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x","success":true,"warning":"old","error":null}]`, "warning: old"},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n\n[Showing lines 1-1 of 9.]","success":true}]`, ""},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "Here's the result of running `cat -n` on a:\n     1\tx\n     2\t\n\n" + reminder, reminder},
		{"view", `{"path":"a","view_range":[1,9]}`, "1. x\n\n[Output truncated. Use view_range=[2, ...] to go on.]", ""},
		{"open", `{"path":"a"}`, "OBSERVATION:\nLint: one warning\n[File: a (9 lines total)]\n5:x\n(4 more lines below)\n(Open file: a)\nMind it.\nbash-$", "Lint: one warning\nMind it."},
		{"read_file", `{"filePath":"a","startLine":1,"endLine":1}`, "Unsaved.\nFile: `a`. Lines 1 to 1 (9 lines total): \n```go\nx\n```\nMind it.", "Unsaved.\nMind it."},
		{"read_file", `{"path":"a"}`, `{"success":true,"content":"x\n","lines_read":1,"error":null,"warnings":["mixed line ends"]}`, `warnings: ["mixed line ends"]`},
		{"Read", `{"path":"a"}`, `{"status":"success","data":{"content":"   1 | x\n","truncated":false},"text":"Read 1 lines from 'a' (Lines 1-1).\n(Took 2ms)\nAnother one edits it.","stats":{"total_lines":1}}`, "Another one edits it."},
		{"exec_command", `{"cmd":"cat a"}`, codexHead + "x\n", ""},
		{"exec_command", `{"cmd":"cat a"}`, codexHead + "mise WARN  missing: y\nx\n", "mise WARN  missing: y"},
		{"bash", `{"command":"cat a"}`, "<returncode>0</returncode>\n<warning>Slow.</warning>\n<output>\nx\n</output>\n<note>End.</note>", "<warning>Slow.</warning>\n<note>End.</note>"},
		{"run_shell_command", `{"command":"cat a"}`, "Command: cat a\nOutput: x\nError: slow\nExit Code: 0\nSignal: (none)", "slow"},
		{"run_shell_command", `{"command":"cat a"}`, "Command: cat a\nOutput: x\nError: (none)\nExit Code: 0\nSignal: (none)", ""},
		{"terminal-execute", `{"command":"cat a"}`, `{"stdout":"x\n","stderr":"slow\n","exitCode":0}`, "slow"},
		{"run_commands", `{"commands":["cat a"]}`, `[{"query":"cat a","result":"x\n","success":true,"warning":"slow"}]`, "warning: slow"},
		{"read_many_files", `{"paths":["a"]}`, "--- a ---\n\nx\n\n\n--- End of content ---\nSkipped b.", "Skipped b."},
	} {
		s := only(t, tt.name, tt.args, tt.text)
		if s.Beside != tt.want {
			t.Errorf("%s %s %.120q:\n got %q\nwant %q", tt.name, tt.args, tt.text, s.Beside, tt.want)
		}
		if len(s.Lines) == 0 || s.Lines[0] != "x" {
			t.Errorf("%s %.90q: lines %q", tt.name, tt.text, s.Lines)
		}
	}
	// In a batch, each section has the text beside the lines of its file.
	res := Default().Result(Default().Action("filesystem-read", `{"filePath":["a","b"]}`), "📄 a (lines 1-1/9)\n1→x\n\nSymbols: f\n\n📄 b (lines 1-1/9)\n1→y", false)
	if len(res.Sections) != 2 || res.Sections[0].Beside != "Symbols: f" || res.Sections[1].Beside != "" {
		t.Errorf("%+v", res)
	}
	if res, ok := Default().ByContent("   123→x\n\n" + reminder); !ok || res.Sections[0].Beside != reminder {
		t.Errorf("%+v", res)
	}
}

// Final says whether the last line ends in a line break, if that can be known. It is never wrong.
func TestFinal(t *testing.T) {
	known := map[string]bool{}
	for _, ended := range []bool{true, false} {
		f := written{[]string{"a", "b", "c"}, ended}
		want := FinalNone
		if ended {
			want = FinalNewline
		}
		for i := range renderers {
			s := &renderers[i]
			for a := range 4 {
				for b := a; b < 4; b++ {
					if a == 0 && b > 0 || a > 0 && !s.ranges {
						continue
					}
					switch got := sectionOf(t, s, f, a, b).Final; {
					case got == FinalUnknown:
					case a > 0 && b < 3:
						t.Errorf("%s: lines %d-%d tell the end of the file: %d", s.name, a, b, got)
					case got != want:
						t.Errorf("%s: lines %d-%d, ended %v: got %d", s.name, a, b, ended, got)
					case a == 0:
						known[s.name+map[bool]string{true: " ended", false: " open"}[ended]] = true
					}
				}
			}
		}
	}
	for _, name := range []string{"filesystem-read", "Claude Code, tabs", "Claude Code, arrows", "opencode, older", "Qwen", "Gemini", "Continue", "pi", "ours read_file", "Codex cat", "Codex, older shell"} {
		for _, end := range []string{" ended", " open"} {
			if !known[name+end] {
				t.Errorf("%s%s: a whole read does not tell the end of the last line", name, end)
			}
		}
	}
	// If the last line has no line break, it is the last line of the file, also if as many lines came as were asked for.
	if s := only(t, "exec_command", `{"cmd":"sed -n '1,2p' a"}`, codexHead+"x\ny"); s.Final != FinalNone || s.Total != 0 {
		t.Errorf("%+v", s)
	}
	// A result that may have been trimmed does not show the end.
	if s := only(t, "bash", `{"command":"sed -n '1,2p' a"}`, "x\ny"); s.Final != FinalUnknown || s.Cut {
		t.Errorf("%+v", s)
	}
	// Line numbers do not show the end either, if the tool may split a file into lines in its own way.
	for name, args := range map[string]string{"fetch_lines": `{"path":"a"}`, "view": `{"path":"a"}`} {
		if s := only(t, name, args, "1. x\n2. y"); s.Final != FinalUnknown || s.Total != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	res := Default().Result(Default().Action("exec_command", `{"cmd":"sed -n '1,2p' a; sed -n '5,6p' a"}`), codexHead+"1\n2\n5", false)
	if len(res.Sections) != 2 || res.Sections[0].Final != FinalUnknown || res.Sections[1].Final != FinalNone {
		t.Errorf("%+v", res)
	}
}

// If every line ends in a carriage return, the carriage returns are removed, and Stripped says so, because the file itself may
// have them.
func TestStripped(t *testing.T) {
	for _, tt := range []struct {
		name, args, text, line string
		want                   bool
	}{
		{"bash", `{"command":"cat a"}`, "OBSERVATION:\nx\r\ny\r\n", "x", true},
		{"bash", `{"command":"cat a"}`, "OBSERVATION:\nx\r\ny\n", "x\r", false}, // a file with both kinds of line ends
		{"bash", `{"command":"cat a"}`, "OBSERVATION:\nx\ny\n", "x", false},
		{"bash", `{"command":"cat a"}`, "x\r\ny\r\n", "x\r", false},
		{"bash", `{"command":"cat -n a"}`, "OBSERVATION:\n     1\tx\r\n", "x", true},
		{"bash", `{"command":"sed -n 1p a; sed -n 3p a"}`, "OBSERVATION:\nx\r\ny\r\n", "x", true},
		{"bash", `{"command":"nl -ba a; nl -ba b"}`, "OBSERVATION:\n     1\tx\r\n     1\ty\r\n", "x", true},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "OBSERVATION:\nHere's the result of running `cat -n` on a:\r\n     1\tx\r\n     2\ty\r\n", "x", true},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "OBSERVATION:\nHere's the result of running `cat -n` on a:\n     1\tx\r\n     2\ty\r\n", "x\r", false},
		{"open", `{"path":"a"}`, "[File: a (1 lines total)]\r\n1:x\r\n", "x", true},
		{"open", `{"path":"a"}`, "[File: a (1 lines total)]\n1:x\r\n", "x\r", false},
		{"Read", `{"file_path":"a"}`, "1\tx\r\n2\ty\r\n3\t", "x\r", false},
	} {
		res := Default().Result(Default().Action(tt.name, tt.args), tt.text, false)
		if len(res.Sections) == 0 {
			t.Errorf("%s %q: %+v", tt.args, tt.text, res)
			continue
		}
		for _, s := range res.Sections {
			if s.Stripped != tt.want {
				t.Errorf("%s %q: stripped %v", tt.args, tt.text, s.Stripped)
			}
		}
		if s := res.Sections[0]; len(s.Lines) == 0 || s.Lines[0] != tt.line {
			t.Errorf("%s %q: %q", tt.args, tt.text, s.Lines)
		}
	}
}
