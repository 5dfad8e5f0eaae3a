package dialect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// written is a file that a tool shows: its lines, and whether the last one has a line end.
type written struct {
	lines []string
	ended bool
}

func (f written) content() string {
	s := strings.Join(f.lines, "\n")
	if f.ended && len(f.lines) > 0 {
		s += "\n"
	}
	return s
}

// pieces returns the lines of the file for agents that split it at line ends. After a final line end there is one empty line
// more.
func (f written) pieces() []string {
	if f.ended {
		return append(slices.Clone(f.lines), "")
	}
	return f.lines
}

// renderer renders a read of lines a to b of f (0, 0: all) in the form of one agent: the tool's name, the call's arguments, and the
// result.
type renderer struct {
	name     string
	row      string
	ranges   bool // lines can be asked for
	unending bool // if a range was asked for, the result does not show whether it reached the end
	show     func(f written, a, b int) (tool, args, text string)
}

const somePath = "/home/me/project/src/store.go"

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// numberLines joins numbered lines by line ends.
func numberLines(format string, lines []string, first int) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = fmt.Sprintf(format, first+i, l)
	}
	return strings.Join(out, "\n")
}

// cutOut returns lines a to b of lines, and a.
func cutOut(lines []string, a, b int) ([]string, int) {
	if a == 0 {
		return lines, 1
	}
	return lines[a-1 : min(b, len(lines))], a
}

func ranged(key string, a, b int, from, to string, offset int) map[string]any {
	m := map[string]any{key: somePath}
	if a > 0 {
		m[from] = a + offset
		if to == "limit" {
			m[to] = b - a + 1
		} else {
			m[to] = b
		}
	}
	return m
}

// renderers has one entry for each form in which agents show files.
var renderers = []renderer{
	{name: "ours Read", row: "stet/Read", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.lines, a, b)
		text := ""
		for i, l := range lines {
			text += fmt.Sprintf("%4d | %s\n", first+i, l)
		}
		return "Read", encoded(ranged("path", a, b, "start_line", "limit", 0)), encoded(map[string]any{
			"status": "success", "data": map[string]any{"content": text, "truncated": false}, "text": "Read.",
			"stats": map[string]any{"total_lines": len(f.lines)}, "context": map[string]any{"cwd": "."},
		})
	}},
	{name: "ours read_file", row: "stet/read_file", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, _ := cutOut(f.lines, a, b)
		text := strings.Join(lines, "\n")
		if f.ended || a > 0 && b < len(f.lines) {
			text += "\n"
		}
		return "read_file", encoded(ranged("path", a, b, "start_line", "end_line", 0)), text
	}},
	{name: "ours read_file as result", row: "stet/read_file", show: func(f written, a, b int) (string, string, string) {
		return "mcp__files__read_file", encoded(map[string]any{"path": somePath}), encoded(map[string]any{"success": true, "content": f.content()})
	}},
	{name: "filesystem-read", row: "stet/filesystem-read", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		return "filesystem-read", encoded(ranged("filePath", a, b, "startLine", "endLine", 0)),
			fmt.Sprintf("📄 %s (lines %d-%d/%d)\n", somePath, first, first+len(lines)-1, len(f.pieces())) + numberLines("%d→%s", lines, first)
	}},
	{name: "Claude Code, tabs", row: "claude-code/Read", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		return "Read", encoded(ranged("file_path", a, b, "offset", "limit", 0)), numberLines("%d\t%s", lines, first)
	}},
	{name: "Claude Code, arrows", row: "claude-code/Read", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		return "Read", encoded(ranged("file_path", a, b, "offset", "limit", 0)), numberLines("%6d→%s", lines, first) +
			"\n\n<system-reminder>\nThink of it.\n</system-reminder>\n"
	}},
	{name: "opencode", row: "opencode/read", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.lines, a, b)
		note := fmt.Sprintf("(End of file - total %d lines)", len(f.lines))
		if a > 0 && b < len(f.lines) {
			note = fmt.Sprintf("(Showing lines %d-%d of %d. Use offset=%d to continue.)", a, b, len(f.lines), b+1)
		}
		return "read", encoded(ranged("filePath", a, b, "offset", "limit", 0)), "<path>" + somePath + "</path>\n<type>file</type>\n<content>\n" +
			numberLines("%d: %s", lines, first) + "\n\n" + note + "\n</content>"
	}},
	{name: "opencode, older", row: "opencode/read", show: func(f written, a, b int) (string, string, string) {
		return "read", encoded(map[string]any{"filePath": somePath}), "<file>\n" + numberLines("%05d| %s", f.pieces(), 1) +
			fmt.Sprintf("\n\n(End of file - total %d lines)\n</file>", len(f.pieces()))
	}},
	{name: "Qwen", row: "gemini/read_file", ranges: true, show: func(f written, a, b int) (string, string, string) {
		args := encoded(ranged("file_path", a, b, "offset", "limit", -1))
		if a == 0 {
			return "read_file", args, f.content()
		}
		lines, _ := cutOut(f.pieces(), a, b)
		return "read_file", args, fmt.Sprintf("Showing lines %d-%d of %d total lines.\n\n---\n\n", a, a+len(lines)-1, len(f.pieces())) + strings.Join(lines, "\n")
	}},
	{name: "Gemini", row: "gemini/read_file", ranges: true, show: func(f written, a, b int) (string, string, string) {
		args := encoded(ranged("file_path", a, b, "start_line", "end_line", 0))
		if a == 0 {
			return "read_file", args, f.content()
		}
		lines, _ := cutOut(f.pieces(), a, b)
		return "read_file", args, fmt.Sprintf("\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\nAction: Go on.\n\n--- FILE CONTENT (truncated) ---\n",
			a, a+len(lines)-1, len(f.pieces())) + strings.Join(lines, "\n")
	}},
	{name: "Cline", row: "cline/read_files", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.lines, a, b)
		query := somePath
		if a > 0 {
			query += fmt.Sprintf(":%d-%d", a, b)
		}
		width := len(fmt.Sprint(first + len(lines) - 1))
		return "read_files", encoded(map[string]any{"files": []any{ranged("path", a, b, "start_line", "end_line", 0)}}),
			encoded([]any{map[string]any{"query": query, "result": numberLines(fmt.Sprintf("%%%dd | %%s", width), lines, first), "success": true}})
	}},
	{name: "Continue", row: "continue/Read", show: func(f written, a, b int) (string, string, string) {
		return "Read", encoded(map[string]any{"filepath": somePath}), "Content of " + somePath + ":\n" + f.content()
	}},
	{name: "editor", row: "editor/view", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		m := map[string]any{"command": "view", "path": somePath}
		if a > 0 {
			m["view_range"] = []int{a, b}
		}
		return "str_replace_editor", encoded(m), "Here's the result of running `cat -n` on " + somePath + ":\n" + numberLines("%6d\t%s", lines, first) + "\n"
	}},
	{name: "SWE-agent editor", row: "editor/view", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		m := map[string]any{"command": "view", "path": somePath}
		if a > 0 {
			m["view_range"] = []int{a, b}
		}
		return "str_replace_editor", encoded(m), "OBSERVATION:\n" + strings.ReplaceAll(
			"Here's the result of running `cat -n` on "+somePath+":\n"+numberLines("%6d\t%s", lines, first)+"\n", "\n", "\r\n")
	}},
	{name: "SWE-agent window", row: "swe-agent/open", show: func(f written, a, b int) (string, string, string) {
		return "open", encoded(map[string]any{"path": somePath}), fmt.Sprintf("[File: %s (%d lines total)]\n", somePath, len(f.lines)) +
			numberLines("%d:%s", f.lines, 1) + "\n(0 more lines below)\n(Open file: " + somePath + ")"
	}},
	{name: "Copilot CLI", row: "copilot-cli/view", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.pieces(), a, b)
		m := map[string]any{"path": somePath}
		if a > 0 {
			m["view_range"] = []int{a, b}
		}
		return "view", encoded(m), numberLines("%d. %s", lines, first)
	}},
	{name: "pi", row: "pi/read", ranges: true, unending: true, show: func(f written, a, b int) (string, string, string) {
		all := f.pieces()
		lines, _ := cutOut(all, a, b)
		text := strings.Join(lines, "\n")
		if a > 0 && b < len(all) {
			text += fmt.Sprintf("\n\n[%d more lines in file. Use offset=%d to continue.]", len(all)-b, b+1)
		}
		return "read", encoded(ranged("path", a, b, "offset", "limit", 0)), text
	}},
	{name: "VS Code", row: "vscode/read_file", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.lines, a, b)
		last := first + len(lines) - 1
		return "read_file", encoded(map[string]any{"filePath": somePath, "startLine": first, "endLine": last}),
			fmt.Sprintf("File: `%s`. Lines %d to %d (%d lines total): \n````go\n", somePath, first, last, len(f.lines)) + strings.Join(lines, "\n") + "\n````"
	}},
	{name: "MCP filesystem head", row: "mcp-filesystem/read_text_file head", show: func(f written, a, b int) (string, string, string) {
		return "filesystem_read_text_file", encoded(map[string]any{"path": somePath, "head": 10_000}), f.content()
	}},
	{name: "Codex cat", row: "codex/exec_command", show: func(f written, a, b int) (string, string, string) {
		return "exec_command", encoded(map[string]any{"cmd": "cat src/store.go", "workdir": "/home/me/project"}), codexHead + f.content()
	}},
	{name: "Codex sed", row: "codex/exec_command", ranges: true, show: func(f written, a, b int) (string, string, string) {
		return shellShow("exec_command", "cmd", codexHead, "", f, a, b)
	}},
	{name: "Codex exec", row: "codex/exec_command", ranges: true, show: func(f written, a, b int) (string, string, string) {
		_, args, text := shellShow("exec_command", "cmd", "Script completed\nWall time 0.1 seconds\nOutput:\n\n", "", f, a, b)
		return "exec", "const r = await tools.exec_command(" + args + "); text(r.output)", text
	}},
	{name: "Codex, older shell", row: "codex/shell", ranges: true, show: func(f written, a, b int) (string, string, string) {
		_, args, text := shellShow("shell", "command", "", "", f, a, b)
		var m map[string]any
		_ = json.Unmarshal([]byte(args), &m)
		m["command"] = []any{"bash", "-lc", m["command"]}
		return "shell", encoded(m), encoded(map[string]any{"output": text, "metadata": map[string]any{"exit_code": 0}})
	}},
	{name: "mini-swe-agent sed", row: "opencode/bash", ranges: true, show: func(f written, a, b int) (string, string, string) {
		return shellShow("bash", "command", "<returncode>0</returncode>\n<output>\n", "</output>", f, a, b)
	}},
	{name: "nl", row: "opencode/bash", ranges: true, show: func(f written, a, b int) (string, string, string) {
		lines, first := cutOut(f.lines, a, b)
		command := "nl -ba " + somePath
		if a > 0 {
			command += fmt.Sprintf(" | sed -n '%d,%dp'", a, b)
		}
		return "bash", encoded(map[string]any{"command": command}), numberLines("%6d\t%s", lines, first) + "\n"
	}},
}

const codexHead = "Chunk ID: 1a2b3c\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n"

func shellShow(tool, key, head, tail string, f written, a, b int) (string, string, string) {
	command, text := "cat "+somePath, f.content()
	if a > 0 {
		lines, _ := cutOut(f.lines, a, b)
		command = fmt.Sprintf("sed -n '%d,%dp' %s", a, b, somePath)
		if text = strings.Join(lines, "\n"); f.ended || b < len(f.lines) {
			text += "\n"
		}
	}
	return tool, encoded(map[string]any{key: command}), head + text + tail
}

// someFile returns a file whose lines look like the text that tools add to files.
func someFile(r *rand.Rand, n int) written {
	words := []string{
		"", "x", "\tindented", "  two spaces", "trailing ", "1\tone", "2→two", "3: three", "4 | four", "(End of file - total 3 lines)",
		"</content>", "---", "```", "Error: no such thing", "<system-reminder>", "é → 😀", `back\slash "quoted"`, "[3 more lines in file. Use offset=9 to continue.]",
		"Showing lines 1-2 of 3 total lines.", "📄 other.go (lines 1-2/3)", "// a comment", "}", "Output:", "</output>", "5",
	}
	f := written{ended: r.IntN(3) > 0}
	for i := range n {
		w := words[r.IntN(len(words))]
		if i == 0 || i == n-1 {
			w = fmt.Sprintf("line %d", i+1) // other tests cover the ends of files and ranges
		}
		f.lines = append(f.lines, w)
	}
	return f
}

// All agents' reads of one file give the same lines and numbers.
func TestSameLinesFromEveryAgent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f := someFile(r, 2+r.IntN(40))
		for i := range renderers {
			checkShown(t, &renderers[i], f, 0, 0)
			if renderers[i].ranges {
				a := 1 + r.IntN(len(f.lines))
				b := a + r.IntN(len(f.lines)-a+1)
				checkShown(t, &renderers[i], f, a, b)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// Blank lines at the beginning and at the end count as lines. After the final line end there is no line.
func TestBlankEnds(t *testing.T) {
	for _, f := range []written{
		{[]string{"a", "b"}, true},
		{[]string{"a", "b"}, false},
		{[]string{"", "a", ""}, true},
		{[]string{"a", "", ""}, true},
	} {
		for i := range renderers {
			if s := &renderers[i]; f.ended || s.name != "filesystem-read" {
				checkShown(t, s, f, 0, 0)
			}
		}
	}
}

func checkShown(t *testing.T, s *renderer, f written, a, b int) {
	t.Helper()
	tool, args, text := s.show(f, a, b)
	table := Default()
	act := table.Action(tool, args)
	if act.Op != Read || act.Row != s.row {
		t.Errorf("%s: %s %s is op %d of row %q, want a read of %q", s.name, tool, args, act.Op, act.Row, s.row)
		return
	}
	res := table.Result(act, text, false)
	if strings.HasPrefix(text, "Error:") { // TRIM-3, although the file may begin so
		if !res.Failed {
			t.Errorf("%s: %q did not fail", s.name, text)
		}
		return
	}
	if res.Failed || res.Unchanged || len(res.Sections) != 1 {
		t.Errorf("%s: lines %d-%d: %+v\n%s", s.name, a, b, res, text)
		return
	}
	want, first := cutOut(f.lines, a, b)
	sec := res.Sections[0]
	if sec.Path != somePath || sec.First != first || !slices.Equal(sec.Lines, want) || sec.Cut || sec.Failed || sec.Dir {
		t.Errorf("%s: lines %d-%d: got %q from %d, cut %v, path %s; want %q from %d\n%s", s.name, a, b, sec.Lines, sec.First, sec.Cut, sec.Path, want, first, text)
	}
	if whole := a == 0; whole && sec.Total != len(f.lines) || sec.Total != 0 && sec.Total != len(f.lines) {
		t.Errorf("%s: lines %d-%d: total %d, want %d", s.name, a, b, sec.Total, len(f.lines))
	}
	if sec.Start != 0 && tool != "read_files" || sec.End > len(text) || sec.End < sec.Start {
		t.Errorf("%s: section at %d-%d of %d", s.name, sec.Start, sec.End, len(text))
	}
}
