package trim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// sparsely returns lines a to b, with a number in front of the first one and of every tenth one.
func sparsely(format string, a, b int) string {
	var s strings.Builder
	for n := a; n <= b; n++ {
		line := "the text of line"
		if n == a || n%10 == 0 {
			line = fmt.Sprintf(format, n, line)
		}
		fmt.Fprintf(&s, "%s %d\n", line, n)
	}
	return s.String()
}

func numberedAll(format string, a, b int) string {
	var s strings.Builder
	for n := a; n <= b; n++ {
		fmt.Fprintf(&s, format+" %d\n", n, "the text of line", n)
	}
	return s.String()
}

// Each tool whose agent edits by text: only numbers leave, and the lines keep their bytes.
func TestSparseNumbers(t *testing.T) {
	envelope := func(lines string) string {
		content, _ := json.Marshal(strings.TrimSuffix(lines, "\n"))
		return `{"status":"success","data":{"content":` + string(content) + `,"truncated":false},"text":"Read 30 lines","stats":{"total_lines":30}}`
	}
	opencode := func(lines string) string {
		return "<path>a.ts</path>\n<type>file</type>\n<content>\n" + lines + "\n(End of file - total 30 lines)\n</content>"
	}
	same := func(lines string) string { return lines }
	for _, tt := range []struct {
		name, tool, args, format string
		around                   func(lines string) string
	}{
		{"claude code", "Read", `{"file_path":"/p/a.ts"}`, "%d\t%s", same},
		{"claude code, arrows", "Read", `{"file_path":"/p/a.ts"}`, "%6d→%s", same},
		{"opencode", "read", `{"filePath":"a.ts"}`, "%d: %s", opencode},
		{"codex", "read_file", `{"file_path":"/p/a.ts","mode":"slice"}`, "L%d: %s", same},
		{"copilot", "view", `{"path":"a.ts"}`, "%d. %s", same},
		{"stet", "mcp__stet__Read", `{"path":"a.ts","start_line":1,"limit":30}`, "%6d | %s", envelope},
	} {
		c := &conv{clock: noon}
		c.user("go on")
		at := c.call(tt.tool, tt.args, tt.around(numberedAll(tt.format, 1, 30)))
		c.call(tt.tool, tt.args, tt.around(numberedAll(tt.format, 1, 30)))
		again := c.call(tt.tool, tt.args, tt.around(numberedAll(tt.format, 1, 30)))
		for policy, numbers := range map[Policy]LineNumbers{Lossless: SparseNumbers, Adaptive: SparseNumbers, Bold: ""} {
			out, p := sent(t, newEngine(t, Config{Policy: policy, LineNumbers: numbers}), c.messages)
			if got, want := out[at].Parts[0].Text, tt.around(sparsely(tt.format, 1, 30)); got != want {
				t.Fatalf("%s, %s:\n%s\nwant\n%s", tt.name, policy, got, want)
			}
			if p.Omissions[0].Reason != Numbers || p.Omissions[1].Reason != Repeat || len(p.Edits) != 2 {
				t.Errorf("%s: %+v", tt.name, p.Omissions)
			}
			if out[again].Parts[0].Text != c.messages[again].Parts[0].Text {
				t.Errorf("%s: asked again, the read is not in full", tt.name)
			}
		}
		for policy, numbers := range map[Policy]LineNumbers{Adaptive: "", Bold: AllNumbers, KeepLatest: SparseNumbers} {
			if out, _ := sent(t, newEngine(t, Config{Policy: policy, LineNumbers: numbers}), c.messages[:at+1]); out[at].Parts[0].Text != c.messages[at].Parts[0].Text {
				t.Errorf("%s: numbers left under %s %q", tt.name, policy, numbers)
			}
		}
	}
}

// These reads keep all of their numbers.
func TestNumbersStay(t *testing.T) {
	for name, tt := range map[string]struct{ tool, args, result string }{
		"fewer than 20 lines": {"Read", `{"file_path":"/p/a.ts"}`, numberedAll("%d\t%s", 1, 19)},
		"a tool whose agent inserts after a line number": {
			"str_replace_editor", `{"command":"view","path":"/p/a.ts"}`,
			"Here's the result of running `cat -n` on /p/a.ts:\n" + numberedAll("%6d\t%s", 1, 30),
		},
		"numbers that the agent asked a shell for": {"exec_command", `{"cmd":"nl -ba a.ts"}`, numberedAll("%6d\t%s", 1, 30)},
		"a line that begins like a numbered one":   {"Read", `{"file_path":"/p/a.tsv"}`, numberedAll("%d\t7\t%s", 1, 30)},
		"a line that begins like a placeholder":    {"Read", `{"file_path":"/p/a.ts"}`, numberedAll("%d\t[stet: %s", 1, 30)},
		"a failure":                                {"Read", `{"file_path":"/p/a.ts"}`, "<tool_use_error>" + numberedAll("%d\t%s", 1, 30)},
	} {
		c := &conv{clock: noon}
		c.user("go on")
		at := c.call(tt.tool, tt.args, tt.result)
		if out, _ := sent(t, newEngine(t, Config{Policy: Bold}), c.messages); out[at].Parts[0].Text != tt.result {
			t.Errorf("%s: sent\n%s", name, out[at].Parts[0].Text)
		}
	}
}

// Next to pointers, a long stretch of lines that stay loses its numbers too. A blank last line without a line end keeps its number.
func TestSparseAroundPointers(t *testing.T) {
	c := &conv{clock: noon}
	c.user("go on")
	c.call("Read", `{"file_path":"/p/a.ts","offset":41,"limit":30}`, numberedAll("%d\t%s", 41, 70))
	at := c.call("Read", `{"file_path":"/p/a.ts"}`, numberedAll("%d\t%s", 1, 75)+"76\t")
	out, p := sent(t, newEngine(t, Config{Policy: Bold}), c.messages)
	want := sparsely("%d\t%s", 1, 41) + "[stet: a.ts lines 42-69 of 75 unchanged: shown above by call_1 (lines 41-70). Ask again for the full text.]\n" + numberedAll("%d\t%s", 70, 75) + "76\t"
	if got := out[at].Parts[0].Text; got != want || p.Omissions[1].Reason != Partial {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
	blank := numberedAll("%d\t%s", 1, 29) + "30\t\n31\t"
	c = &conv{clock: noon}
	c.user("go on")
	at = c.call("Read", `{"file_path":"/p/b.ts","offset":1,"limit":31}`, blank)
	if out, _ := sent(t, newEngine(t, Config{Policy: Bold}), c.messages); !strings.HasSuffix(out[at].Parts[0].Text, "line 29\n30\t\n31\t") {
		t.Errorf("sent\n%s", out[at].Parts[0].Text)
	}
}

// A result whose beginning is in separate values of the body is not touched: an edit cannot change that beginning.
func TestSparseNotWithHead(t *testing.T) {
	c := &conv{clock: noon}
	c.user("go on")
	text := numberedAll("L%d: %s", 1, 30)
	at := c.call("read_file", `{"file_path":"/p/a.ts","mode":"slice"}`, text)
	c.messages[at].Parts[0] = llm.Part{Kind: llm.ToolResult, CallID: "call_1", Text: text, Head: text[:40]}
	if out, _ := sent(t, newEngine(t, Config{Policy: Bold}), c.messages); out[at].Parts[0].Text != text {
		t.Error("numbers left")
	}
}
