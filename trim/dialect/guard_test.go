package dialect

import (
	"fmt"
	"strings"
	"testing"
)

// A table of data whose rows begin with numbers is not a file with line numbers. A line number that is not possible is not
// believed.
func TestFirstNumber(t *testing.T) {
	for _, tt := range []struct {
		name, args, text string
		first            int
	}{
		{"read_file", `{"path":"a.tsv","offset":1}`, "123456789\tx\n123456790\ty\n", 0},
		{"read_file", `{"path":"a.tsv","offset":1,"limit":9}`, "7\tx\n8\ty\n", 0},
		{"read_file", `{"path":"a","offset":5}`, "7\tx\n8\ty\n", 0},
		{"read_file", `{"path":"a","offset":1}`, "1\tx\n2\ty\n", 1},
		{"read_file", `{"path":"a","offset":7}`, "7\tx\n8\ty\n", 7},
		{"Read", `{"file_path":"a","offset":5}`, "7\tx\n8\ty\n", 0},
		{"Read", `{"file_path":"a"}`, "7\tx\n8\ty\n", 7}, // this tool always prints numbers
		{"Read", `{"file_path":"a"}`, "50000000\tx", 50_000_000},
		{"Read", `{"file_path":"a"}`, "50000001\tx", 0},
		{"read_file", `{"path":"a","start_line":50000001}`, "x\n", 0},
		{"open", `{"path":"a"}`, "[File: a (999999999 lines total)]\n123456789:x\n", 0},
	} {
		s := only(t, tt.name, tt.args, tt.text)
		if s.First != tt.first || s.Cut != (tt.first == 0) || tt.first == 0 && (len(s.Lines) > 0 || s.Total > 0) {
			t.Errorf("%s %s %q: %+v", tt.name, tt.args, tt.text, s)
		}
	}
	if res, ok := Default().ByContent("123456789→x"); !ok || res.Sections[0].First != 0 || !res.Sections[0].Cut {
		t.Errorf("%+v", res)
	}
	if res, ok := Default().ByContent("📄 a (lines 123456789-123456789/9)\n123456789→x"); !ok || res.Sections[0].First != 0 {
		t.Errorf("%+v", res)
	}
}

// TRIM-3: the result of a shell as JSON, and a printed file whose content looks like an error.
func TestFailedShells(t *testing.T) {
	for _, tt := range []struct {
		name, args, text string
		want             bool
	}{
		{"terminal-execute", `{"command":"make"}`, `{"stderr":"make: error","exitCode":2}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"stdout":"","stderr":"","exit_code":1}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"stdout":"","stderr":"x","code":"1"}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"output":"x","returncode":-9}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"output":"x","metadata":{"exitCode":3}}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"stdout":"` + strings.Repeat("x", 9000) + `","stderr":"","exitCode":2,"executedAt":"now"}`, true},
		{"terminal-execute", `{"command":"make"}`, `{"stdout":"fine","stderr":"a warning","exitCode":0}`, false},
		{"terminal-execute", `{"command":"make"}`, `{"stdout":"{}","success":false,"exitCode":0}`, false}, // the exit code decides
		{"terminal-execute", `{"command":"make"}`, `{"code":2}`, false},                                   // the command printed this
		{"terminal-execute", `{"command":"cat a"}`, `{"stdout":"","stderr":"cat: a: No such file","exitCode":1}`, true},
		{"terminal-execute", `{"command":"cat a"}`, `{"error":"not allowed"}`, true},
		{"Bash", `{"command":"cat r.json"}`, `{"success":false}`, false},
		{"Bash", `{"command":"cat r.json"}`, `{"status":"error","code":3}`, false},
		{"execute_bash", `{"command":"cat r.json"}`, "{\"success\":false}\n[The command completed with exit code 0.]", false},
		{"execute_bash", `{"command":"cat r.json"}`, "{\"success\":false}\n[The command completed with exit code 1.]", true},
		{"exec_command", `{"cmd":"cat r.json"}`, codexHead + `{"success":false}`, false},
		{"run_commands", `{"commands":["cat r.json"]}`, `[{"query":"cat","result":"{\"success\":false}","success":true}]`, false},
		{"shell", `{"command":["cat","r.json"]}`, `{"output":"{\"success\":false}","metadata":{"exit_code":0}}`, false},
		{"Bash", `{"command":"make"}`, "[Command exited with code 2]", true},
		{"editor", `{"path":"a","old_text":"x","new_text":"y"}`, `{"success":false,"exitCode":0}`, true},
		{"read_file", `{"path":"package.json"}`, `{"code":2,"exitCode":3}`, false},
		{"read_file", `{"path":"a"}`, "Error:no space", true}, // TRIM-3
	} {
		if res := Default().Result(Default().Action(tt.name, tt.args), tt.text, false); res.Failed != tt.want {
			t.Errorf("%s %s %.90q: failed %v", tt.name, tt.args, tt.text, res.Failed)
		}
	}
	if s := only(t, "terminal-execute", `{"command":"sed -n 1p a"}`, `{"stdout":"x\n","stderr":"","exitCode":0}`); len(s.Lines) != 1 || s.Lines[0] != "x" {
		t.Errorf("%+v", s)
	}
}

// The name of a tool with the prefix of an unknown server may belong to any tool.
func TestForeignServers(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		op         Op
	}{
		{"mcp__kv__read", `{"path":"a"}`, Other},
		{"notion_view", `{"path":"a"}`, Other},
		{"browser_open", `{"path":"a"}`, Other},
		{"mcp__m__open", `{"path":"a"}`, Other},
		{"web_fetch_lines", `{"path":"a"}`, Other},
		{"mcp__s3__list", `{"path":"a"}`, Other},
		{"mcp__s3__List", `{"path":"a"}`, Other},
		{"browser_scroll_down", `{}`, Other},
		{"profile_view", `{"path":"a"}`, Other},
		{"mcp__kv__read", `{"path":"a","limit":null}`, Other},
		{"mcp__kv__read", `{"path":"a","limit":5}`, Read},
		{"mcp__kv__read_file", `{"path":"a"}`, Read},
		{"mcp__kv__read_text_file", `{"path":"a"}`, Read},
		{"mcp__kv__list_directory", `{"path":"a"}`, List},
		{"filetools_fetch_lines", `{"path":"a"}`, Read},
		{"fs_read", `{"path":"a"}`, Read},
		{"read", `{"path":"a"}`, Read},
		{"mcp__box__str_replace_editor", `{"command":"view","path":"a"}`, Read},
		// Paths that are not files.
		{"Read", `{"file_path":"/dev/stdin"}`, Other},
		{"Read", `{"file_path":"/proc/self/status"}`, Other},
		{"Read", `{"file_path":"/proc/../srv/a"}`, Read},
		{"Read", `{"file_path":"/development/a"}`, Read},
		{"bash", `{"command":"cat /dev/stdin"}`, Shell},
		{"bash", `{"command":"cat /proc/meminfo"}`, Shell},
		{"bash", `{"command":"cd /proc && cat meminfo"}`, Shell},
		{"bash", `{"command":"cat meminfo","workdir":"/proc"}`, Shell},
	} {
		if a := Default().Action(tt.name, tt.args); a.Op != tt.op {
			t.Errorf("%s %s: op %d of row %q, want %d", tt.name, tt.args, a.Op, a.Row, tt.op)
		}
	}
}

// A text that replaces a result, or content that is not text, is not a line of the file.
func TestNoFile(t *testing.T) {
	for _, tt := range []struct{ name, args, text string }{
		{"bash", `{"command":"sed -n 5p a"}`, "(Bash completed with no output)"},
		{"bash", `{"command":"sed -n 5p a"}`, "(no output)"},
		{"Bash", `{"command":"sed -n 5p a"}`, "Tool ran without output or errors"},
		{"bash", `{"command":"sed -n 5p a"}`, "OBSERVATION:\nYour command ran successfully and did not produce any output."},
		{"run_commands", `{"commands":["sed -n 5p a"]}`, `[{"query":"sed","result":"(no output)","success":true}]`},
		{"read_file", `{"path":"a"}`, "[Old tool result content cleared]"},
		{"read_file", `{"file_path":"a"}`, "[Old tool result content cleared]"},
		{"read_file", `{"path":"a"}`, "[Old tool result content cleared — original size: 900 chars]\nRead it again."},
		{"read", `{"path":"a"}`, "[cleared to save context]"},
		{"read", `{"path":"a"}`, "[Old tool output cleared to save context space]"},
		{"bash", `{"command":"sed -n 1p a"}`, "[output omitted to save context; call the tool again if you need it]"},
		{"read_file", `{"file_path":"a"}`, "<tool_output_masked>\nx\n</tool_output_masked>"},
		{"Bash", `{"command":"sed -n '1,9p' a"}`, "<persisted-output>\nOutput too large.\n\nPreview:\nx\n</persisted-output>"},
		{"bash", `{"command":"sed -n 1p a"}`, "Old environment output: (9 lines omitted)"},
		{"bash", `{"command":"sed -n 1p a"}`, "<MASKED>"},
		{"read_file", `{"path":"a"}`, "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for the most up to date version of this file.]"},
		{"read_file", `{"path":"a"}`, "[该文件的历史读取内容已压缩,请参看最新读取结果]"},
		{"read_file", `{"path":"a"}`, "[stet: a: an older read, left out.]"},
		{"read_file", `{"file_path":"a.png"}`, "Read image file: a.png"},
		{"read", `{"path":"a.png"}`, "Read image file [image/png]"},
		{"read_file", `{"file_path":"a.pdf"}`, "Binary content provided (1 item(s))."},
		{"filesystem-read", `{"filePath":"a.png"}`, "🖼️  Image: a.png (image/png)"},
		{"filesystem-read", `{"filePath":"a.pdf"}`, "📄 PDF Document: a.pdf"},
		{"Read", `{"file_path":"a.pdf"}`, "PDF file read: a.pdf (1.2MB)"},
		{"Read", `{"file_path":"a.png"}`, ""},
	} {
		if s := only(t, tt.name, tt.args, tt.text); len(s.Lines) > 0 || !s.Cut || s.Total > 0 || s.Said > 0 || s.Final != FinalUnknown || s.Path == "" {
			t.Errorf("%s %s %q: %+v", tt.name, tt.args, tt.text, s)
		}
	}
	for _, line := range []string{"[tool.black]", "[Image](a.png)", "[x] remove the cache", "Old news", "Read image files by hand\nx", "<html>"} {
		text := line + "\n"
		if strings.HasPrefix(line, "[Image") {
			text += "\nmore\n"
		}
		if s := only(t, "read_file", `{"path":"a"}`, text); len(s.Lines) == 0 || s.Cut {
			t.Errorf("%q is a file: %+v", text, s)
		}
	}
}

// TRIM-6, TRIM-8: a directory, an image and a document in a batch are sections of their own.
func TestMixedBatch(t *testing.T) {
	const text = "📄 a.ts (lines 1-1/9)\n1→x\n📁 Directory: src\nb.ts\nlib\n🖼️  Image: i.png (image/png)\n📄 PDF Document: d.pdf\n❌ gone.ts\n   Error: no such file\n📄 c.ts (lines 1-1/9)\n1→y"
	a := Default().Action("filesystem-read", `{"filePath":["a.ts","src","i.png","d.pdf","gone.ts","c.ts"]}`)
	res := Default().Result(a, text, false)
	got := ""
	for _, s := range res.Sections {
		got += fmt.Sprintf("%s %v dir=%v cut=%v failed=%v beside=%q\n", s.Path, s.Lines, s.Dir, s.Cut, s.Failed, s.Beside)
	}
	const want = `a.ts [x] dir=false cut=false failed=false beside=""
src [b.ts lib] dir=true cut=false failed=false beside=""
i.png [] dir=false cut=true failed=false beside=""
d.pdf [] dir=false cut=true failed=false beside=""
gone.ts [] dir=false cut=false failed=true beside=""
c.ts [y] dir=false cut=false failed=false beside=""
`
	if res.Failed || got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s := only(t, "filesystem-read", `{"filePath":"src"}`, "Directory: src\n\na.ts\nlib")
	if !s.Dir || len(s.Lines) != 2 || s.Lines[0] != "a.ts" {
		t.Errorf("%+v", s)
	}
	if s := only(t, "filesystem-read", `{"filePath":["src"]}`, "📁 Directory: src\na.ts\nlib"); !s.Dir || len(s.Lines) != 2 || s.Path != "src" {
		t.Errorf("%+v", s)
	}
}

// The position of a result in its JSON is found correctly, whatever the result and the values beside it contain.
func TestElementPlaces(t *testing.T) {
	for _, result := range []string{"result", "query", "true", "x", ""} {
		text := encoded([]any{map[string]any{"query": "result", "result": result, "success": true}, map[string]any{"query": result, "result": "7 | y", "success": true}})
		list, ok := elements(text)
		if !ok || len(list) != 2 {
			t.Fatalf("%s: %v", text, ok)
		}
		for i, want := range []string{result, "7 | y"} {
			if e := list[i]; text[e.start:e.end] != want || text[e.start-len(`"result":"`):e.start] != `"result":"` {
				t.Errorf("%s: entry %d at %d-%d", text, i, e.start, e.end)
			}
		}
	}
}

// Checks that reject lines which are not those of the file.
func TestGuards(t *testing.T) {
	exactly := func(n int) string { return strings.Repeat("x", n-3) + "..." }
	for _, tt := range []struct {
		name, args, text string
		lines            int
		cut              bool
	}{
		// There are more lines than were asked for.
		{"exec_command", `{"cmd":"sed -n '2,3p' a"}`, codexHead + "x\ny\nz\n", 3, true},
		{"exec_command", `{"cmd":"tail -n 2 a"}`, codexHead + "x\ny\nz\n", 3, true},
		{"bash", `{"command":"sed -n '2,3p' a"}`, "x\ny\nz", 3, true},
		{"bash", `{"command":"sed -n '2,3p' a"}`, "x\ny", 2, false},
		{"read_file", `{"path":"a","start_line":2,"end_line":3}`, "x\ny\nz\n", 3, true},
		{"read_file", `{"path":"a","start_line":2,"end_line":3}`, "x\ny\n", 2, false},
		// A footer names lines that are missing.
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y\n\n[Showing lines 1-5 of 26.]","success":true}]`, 2, true},
		{"read_files", `{"files":[{"path":"a"}]}`, `[{"query":"a","result":"1 | x\n2 | y\n\n[Showing lines 1-2 of 26.]","success":true}]`, 2, false},
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\ny\n\n[53 more lines in file. Use offset=6 to continue.]", 2, false},
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\ny\n\n[53 more lines in file. Use offset=7 to continue.]", 0, true},
		{"read", `{"path":"a","offset":4,"limit":2}`, "x\ny\n\n[53 more lines in file. Use offset=3 to continue.]", 0, true},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<content>\n1: x\n2: y\n\n(Showing lines 1-5 of 9. Use offset=6 to continue.)\n</content>", 2, true},
		{"read", `{"filePath":"a"}`, "<path>a</path>\n<content>\n1: x\n2: y\n\n(Showing lines 1-2 of 9. Use offset=3 to continue.)\n</content>", 2, false},
		// The tool may have cut lines without saying so.
		{"read_file", `{"file_path":"a","mode":"slice"}`, "L1: " + strings.Repeat("x", 500), 1, true},
		{"read_file", `{"file_path":"a","mode":"slice"}`, "L1: " + strings.Repeat("x", 497), 1, true}, // the next character may have had four bytes
		{"read_file", `{"file_path":"a","mode":"slice"}`, "L1: " + strings.Repeat("x", 496), 1, false},
		{"Read", `{"file_path":"a"}`, "1\t" + exactly(2000), 1, true},
		{"Read", `{"file_path":"a"}`, "1\t" + exactly(2020), 1, true},
		{"Read", `{"file_path":"a"}`, "1\t" + exactly(2021), 1, false},
		{"Read", `{"file_path":"a"}`, "1\t" + exactly(1999), 1, false},
		// Text after a view.
		{"str_replace_editor", `{"command":"view","path":"a"}`, "1. x\n2. y\n\nand 90 more", 2, true},
		{"view", `{"path":"a"}`, "1. x\n2. y\n\n<system-reminder>z</system-reminder>", 2, false},
	} {
		s := only(t, tt.name, tt.args, tt.text)
		if len(s.Lines) != tt.lines || s.Cut != tt.cut || s.Cut && s.Total > 0 {
			t.Errorf("%s %s %.120q: %d lines, cut %v, total %d; want %d lines, cut %v", tt.name, tt.args, tt.text, len(s.Lines), s.Cut, s.Total, tt.lines, tt.cut)
		}
	}
	for _, command := range []string{"tail -n 5 a | head -n 2", "cat -n a | tail -n 5 | head -n 2", "cat a | tail -n 5 | cat"} {
		if got := shellReads(command); got != nil {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// The output of several commands is split only if all of it is there, unchanged, and at a known position.
func TestSplitGuards(t *testing.T) {
	const ranges, other = "sed -n '1,2p' a; sed -n '5,6p' a", "sed -n '5,6p' a; sed -n '1,2p' a"
	for _, tt := range []struct {
		tool, command, text string
		sections            int
	}{
		{"exec_command", ranges, strings.Replace(codexHead, "exited with code 0", "running with session ID 7", 1) + "1\n2\n5\n6\n", 0},
		{"exec_command", ranges, codexHead + "Total output lines: 9\n\n1\n2\n5\n6\n", 0},
		{"exec_command", ranges, codexHead + "1\n2\n5\n6\n…9 tokens truncated…\n", 0},
		{"exec_command", ranges, encoded(map[string]any{"output": "1\n2\n5\n6\n", "metadata": map[string]any{"exit_code": 0}}), 0}, // decoded JSON has no position
		{"exec_command", ranges, codexHead + "1\n2\n5\n6\n", 2},
		{"exec_command", ranges, codexHead + "1\n2\n5\n", 2},
		{"bash", ranges, "1\n2\n5", 0}, // lines may have been trimmed
		{"bash", ranges, "1\n2\n5\n6", 2},
		{"exec_command", other, codexHead + "5\n6\n1\n2\n", 2},
		{"exec_command", other, codexHead + "5\n1\n2\n", 0}, // not in order, so the range that was shorter is unknown
		{"exec_command", ranges, codexHead + "mise WARN  old\n1\n2\n5\n", 0},
	} {
		key := map[string]string{"bash": "command", "exec_command": "cmd"}[tt.tool]
		res := Default().Result(Default().Action(tt.tool, encoded(map[string]any{key: tt.command})), tt.text, false)
		if len(res.Sections) != tt.sections || res.Failed {
			t.Errorf("%s: %q: %+v", tt.command, tt.text, res)
		}
	}
}

// These commands do not print one file with a number before each line, so they are not reads.
func TestReaderArguments(t *testing.T) {
	for _, command := range []string{"nl -b t a.go", "nl -b a b.go c.go", "nl -b a", "cat -b a a.go"} {
		if got := shellReads(command); got != nil {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
