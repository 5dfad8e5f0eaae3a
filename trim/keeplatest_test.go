package trim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
)

var noon = time.Date(2026, 1, 31, 2, 20, 0, 0, time.UTC)

func keep(t testing.TB) *Engine { return newEngine(t, Config{Policy: KeepLatest}) }

func expectLeft(t *testing.T, e *Engine, c *conv, want ...int) *Plan {
	t.Helper()
	out, p := sent(t, e, c.messages)
	if got := left(c.messages, out); !reflect.DeepEqual(got, want) {
		t.Errorf("left out messages %v, want %v", got, want)
	}
	return p
}

// Example 1 (TRIM-2): of seven reads of one file the two oldest leave.
func TestExample1MoreThanFiveReads(t *testing.T) {
	c := &conv{clock: noon}
	var at []int
	for _, r := range [][2]int{{150, 200}, {100, 150}, {1, 50}, {200, 250}, {1, 100}, {51, 100}, {1, 50}} {
		at = append(at, c.read("src/components/Button.tsx", r[0], r[1], 250))
	}
	p := expectLeft(t, keep(t), c, at[0], at[1])
	if p.Reads != 7 || p.Dangling != 2 {
		t.Errorf("reads %d, dangling %d; want 7 and 2: lines 100 and 150 to 200 stand nowhere else", p.Reads, p.Dangling)
	}
}

// Example 2 (TRIM-2): five or fewer reads of a file are not changed.
func TestExample2FiveOrFewer(t *testing.T) {
	for n := 1; n <= 5; n++ {
		c := &conv{clock: noon}
		for range n {
			c.read("src/utils/helpers.ts", 1, 100, 100)
		}
		expectLeft(t, keep(t), c)
	}
}

// Example 3 (TRIM-3): failures stay and do not count.
func TestExample3FailuresStay(t *testing.T) {
	c := &conv{clock: noon}
	args := map[string]any{"filePath": "src/config/settings.json"}
	oldest := c.read("src/config/settings.json", 100, 150, 250)
	c.read("src/config/settings.json", 1, 50, 250)
	c.read("src/config/settings.json", 200, 250, 250)
	c.read("src/config/settings.json", 1, 100, 250)
	c.call("filesystem-read", args, "Error: File not found")
	c.call("filesystem-read", args, "something else went wrong", true)
	c.read("src/config/settings.json", 51, 100, 250)
	c.read("src/config/settings.json", 1, 50, 250)
	expectLeft(t, keep(t), c, oldest)
}

// Example 4 (TRIM-2, TRIM-4): reads are counted for each file, and other tools are not changed.
func TestExample4ManyFiles(t *testing.T) {
	c := &conv{clock: noon}
	var b []int
	for i := range 7 {
		b = append(b, c.read("src/components/Button.tsx", 1, 20, 20))
		c.call("terminal-execute", map[string]any{"command": "make"}, "done")
		c.call("filesystem-edit", map[string]any{"filePath": "src/components/Button.tsx", "searchContent": "a", "replaceContent": "b"}, strings.Repeat("-a\n+b\n", 50))
		c.call("ace-search", map[string]any{"query": "Button"}, shown("src/components/Button.tsx", 1, 20, 20))
		if i < 3 {
			c.read("src/App.tsx", 1, 30, 30)
		}
		if i < 2 {
			c.read("src/utils/api.ts", 1, 30, 30)
		}
	}
	expectLeft(t, newEngine(t, Config{Policy: KeepLatest, KeepShell: -1}), c, b[0], b[1])
}

// Example 5 (TRIM-6): each file of a batch counts as a read of that file, in all three forms of filePath. Only the sections of
// files with K newer reads are replaced.
func TestExample5Batch(t *testing.T) {
	for _, args := range []any{
		map[string]any{"filePath": []string{"file1.ts", "", "file2.ts"}},
		map[string]any{"filePath": []map[string]any{{"path": "file1.ts"}, {"path": ""}, {"path": "file2.ts"}}},
	} {
		c := &conv{clock: noon}
		both := c.call("filesystem-read", args, shown("file1.ts", 1, 9, 9)+"\n\n"+shown("file2.ts", 1, 9, 9))
		for range 5 {
			c.read("file1.ts", 1, 9, 9)
		}
		out, p := sent(t, keep(t), c.messages)
		if got := left(c.messages, out); !reflect.DeepEqual(got, []int{both}) {
			t.Fatalf("left out %v, want the batch alone, %d", got, both)
		}
		text := out[both].Parts[0].Text
		if strings.Contains(text, "line 3 of file1.ts") || !strings.Contains(text, shown("file2.ts", 1, 9, 9)) {
			t.Errorf("the section of file1.ts should be one line, that of file2.ts whole:\n%s", text)
		}
		if p.Reads != 7 || p.Dangling != 0 {
			t.Errorf("reads %d, dangling %d; want 7, 0", p.Reads, p.Dangling)
		}
		for range 5 {
			c.read("file2.ts", 1, 9, 9)
		}
		out, _ = sent(t, keep(t), c.messages)
		if text := out[both].Parts[0].Text; strings.Contains(text, "\n") || !strings.Contains(text, "file1.ts, file2.ts") {
			t.Errorf("every file of the batch is past K: it should be one line, is\n%s", text)
		}
	}
}

// TRIM-6: a failed section keeps its text and does not count.
func TestBatchWithFailedSection(t *testing.T) {
	c := &conv{clock: noon}
	failed := "📄 gone.ts\nError: File not found: gone.ts"
	both := c.call("filesystem-read", map[string]any{"filePath": []string{"a.ts", "gone.ts"}}, shown("a.ts", 1, 9, 9)+"\n\n"+failed)
	for range 5 {
		c.read("a.ts", 1, 9, 9)
		c.call("filesystem-read", map[string]any{"filePath": "gone.ts"}, "Error: File not found: gone.ts")
	}
	out, _ := sent(t, keep(t), c.messages)
	text := out[both].Parts[0].Text
	if !strings.Contains(text, "Error: File not found: gone.ts") || strings.Contains(text, "line 3 of a.ts") {
		t.Errorf("want the failure kept and a.ts left out:\n%s", text)
	}
}

// TRIM-6: a failed section is no read of its file: it takes the place of none of the newest K, and is counted nowhere.
func TestFailedSectionIsNoRead(t *testing.T) {
	c := &conv{clock: noon}
	first := c.read("b.ts", 1, 20, 20)
	for range 5 {
		c.call("filesystem-read", map[string]any{"filePath": []string{"a.ts", "b.ts"}}, shown("a.ts", 1, 20, 20)+"\n\n📄 b.ts\nError: File not found: b.ts")
		c.call("filesystem-read", map[string]any{"filePath": []string{"a.ts", "b.ts"}}, shown("a.ts", 1, 20, 20)+"\n\n❌ b.ts: EACCES")
	}
	out, p := sent(t, keep(t), c.messages)
	if out[first].Parts[0].Text != c.messages[first].Parts[0].Text || p.Reads != 11 {
		t.Errorf("reads %d, want 11: the only read of b.ts is\n%.80s", p.Reads, out[first].Parts[0].Text)
	}
}

// Example 6 (TRIM-7): different names of one file count as one file.
//
// TestKeys has a case for each rule.
func TestExample6Paths(t *testing.T) {
	for _, root := range []string{"F:/Projects/app", `f:\Projects\app\`} {
		c := &conv{clock: noon}
		var at []int
		for _, p := range []string{"src/components/Button.tsx", "./src/components/Button.tsx", "F:/Projects/app/src/components/Button.tsx",
			`F:\Projects\app\src\components\Button.tsx`, "src/x/../components/Button.tsx", `src\components\Button.tsx`} {
			at = append(at, c.read(p, 1, 50, 50))
		}
		expectLeft(t, newEngine(t, Config{Policy: KeepLatest, Root: root}), c, at[0])
	}
}

// Example 7 (TRIM-8): directories count like files, with or without a slash.
func TestExample7Directories(t *testing.T) {
	c := &conv{clock: noon}
	var at []int
	for i := range 6 {
		p := []string{"src/components/", "src/components"}[i%2]
		at = append(at, c.call("filesystem-read", map[string]any{"filePath": p}, "📁 src/components\n"+strings.Repeat("Button.tsx\n", 20)))
	}
	expectLeft(t, keep(t), c, at[0])
}

// Examples 8 and 9 (TRIM-9): if a call has no path, its result stays whole, and the debug log says so (TRIM-14).
func TestExample8And9NoPath(t *testing.T) {
	for _, args := range []string{`{"filePath":""}`, `{"filePath":" "}`, `{"filePath":null}`, `{"filePath":[]}`, `{"filePath":["",null]}`,
		`{"filePath":{}}`, `{"filePath":7}`, `{}`, `null`, `{"filePath":`, ``} {
		for _, tool := range []string{"filesystem-read", "Read", "read_file", "goto"} {
			c := &conv{clock: noon}
			for range 7 {
				c.call(tool, args, shown("a.ts", 1, 50, 50))
			}
			var log bytes.Buffer
			e := newEngine(t, Config{Policy: KeepLatest, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			expectLeft(t, e, c)
			if tool == "filesystem-read" && !strings.Contains(log.String(), "without a path") {
				t.Errorf("%s: nothing said at debug level: %q", args, log.String())
			}
			for _, p := range Policies() {
				expectLeft(t, newEngine(t, Config{Policy: p}), c)
			}
			if tool == "filesystem-read" { // TRIM-5: ByContent takes the path from the text
				expectLeft(t, newEngine(t, Config{Policy: KeepLatest, ByContent: true}), c, 1, 3)
			}
		}
	}
	c := &conv{clock: noon}
	for i := range 7 { // the calls of these results are missing
		c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: fmt.Sprint("lost", i), Text: shown("a.ts", 1, 50, 50)})
	}
	expectLeft(t, keep(t), c)
	// TRIM-5: ByContent recognises the results.
	expectLeft(t, newEngine(t, Config{Policy: KeepLatest, ByContent: true}), c, 0, 1)
}

// Example 10 (TRIM-1, TRIM-11): role, call id and time stay. Every test checks with sent that the stored messages stay.
func TestExample10OnlyTheContent(t *testing.T) {
	c := &conv{clock: noon}
	for range 7 {
		c.read("src/components/Button.tsx", 100, 150, 250)
	}
	zh := newEngine(t, Config{Policy: KeepLatest, Language: "zh"})
	out, _ := sent(t, zh, c.messages)
	got, want := out[1], c.messages[1]
	if got.Parts[0].Text != "[该文件的历史读取内容已压缩,请参看最新读取结果]" {
		t.Errorf("zh: %q", got.Parts[0].Text)
	}
	if got.Role != want.Role || !got.Time.Equal(want.Time) || got.Parts[0].CallID != want.Parts[0].CallID || got.Parts[0].Kind != want.Parts[0].Kind {
		t.Errorf("more than the content changed: %+v", got)
	}
	out, _ = sent(t, keep(t), c.messages)
	if text := out[1].Parts[0].Text; !strings.Contains(text, "src/components/Button.tsx lines 100-150") || strings.Contains(text, "\n") {
		t.Errorf("en: %q should name path and lines, on one line", text)
	}
	out, _ = sent(t, newEngine(t, Config{Policy: KeepLatest, Placeholder: "gone: {path}:{lines}\nreally"}), c.messages)
	if text := out[1].Parts[0].Text; text != "gone: src/components/Button.tsx:100-150 really" {
		t.Errorf("custom: %q", text)
	}
}

// TRIM-10: the time says which read is the newest. If times are equal or missing, the position does.
func TestNewestByTime(t *testing.T) {
	c := &conv{clock: noon}
	var at []int
	for range 7 {
		at = append(at, c.read("a.ts", 1, 9, 9))
	}
	c.messages[at[6]].Time = noon.Add(-time.Hour) // the last read is the oldest
	expectLeft(t, keep(t), c, at[0], at[6])
	c.messages[at[5]].Time = noon.Add(-time.Hour) // a read without a time counts as new as the newest before it
	c.messages[at[6]].Time, c.messages[at[6]-1].Time = time.Time{}, time.Time{}
	expectLeft(t, keep(t), c, at[0], at[5])
	for i := range c.messages {
		c.messages[i].Time = noon
	}
	expectLeft(t, keep(t), c, at[0], at[1])
	for i := range c.messages {
		c.messages[i].Time = time.Time{}
	}
	expectLeft(t, keep(t), c, at[0], at[1])
}

// TRIM-13: old outputs of commands become one line. The five newest stay, and failures stay.
func TestOldTerminalOutput(t *testing.T) {
	c := &conv{clock: noon}
	var at []int
	for i := range 8 {
		cmd := map[string]any{"command": fmt.Sprint("go test ./p", i)}
		if i == 1 {
			c.call("terminal-execute", cmd, strings.Repeat("FAIL\n", 99), true)
			continue
		}
		at = append(at, c.call("terminal-execute", cmd, strings.Repeat("ok  \tp\t0.1s\n", 20)))
	}
	expectLeft(t, keep(t), c, at[0], at[1])
	out, _ := sent(t, keep(t), c.messages)
	if text := out[at[0]].Parts[0].Text; !strings.Contains(text, "go test ./p0") || strings.Contains(text, "\n") {
		t.Errorf("%q should name the command, on one line", text)
	}
	c.messages[at[0]].Time = noon.Add(24 * time.Hour) // the time says which output is the newest
	expectLeft(t, keep(t), c, at[1], at[2])
	expectLeft(t, newEngine(t, Config{Policy: KeepLatest, KeepShell: 6}), c, at[1])
	out, _ = sent(t, newEngine(t, Config{Policy: KeepLatest, Language: "zh"}), c.messages)
	if text := out[at[1]].Parts[0].Text; !strings.Contains(text, "命令输出") || !strings.Contains(text, "go test ./p2") {
		t.Errorf("zh: %q", text)
	}
}

// TRIM-10 for outputs: without times, the position says which is the newest.
func TestManyOutputsWithoutTimes(t *testing.T) {
	c := &conv{}
	var at []int
	for range 40 {
		at = append(at, c.call("terminal-execute", `{"command":"make"}`, strings.Repeat("made\n", 50)))
	}
	expectLeft(t, keep(t), c, at[:35]...)
}

// TRIM-13: an output that is shorter than its placeholder stays.
func TestShortTerminalOutput(t *testing.T) {
	c := &conv{clock: noon}
	for range 8 {
		c.call("terminal-execute", map[string]any{"command": "make"}, "ok")
	}
	expectLeft(t, keep(t), c)
}

// TRIM-6, TRIM-16: an agent's own stub in a batch stays too.
func TestBatchWithStub(t *testing.T) {
	c := &conv{clock: noon}
	stub := "📄 b.ts\n[File previously read: b.ts. Content unchanged since last read.]"
	both := c.call("filesystem-read", `{"filePath":["a.ts","b.ts"]}`, shown("a.ts", 1, 9, 9)+"\n\n"+stub)
	for range 5 {
		c.read("a.ts", 1, 9, 9)
	}
	out, _ := sent(t, keep(t), c.messages)
	if text := out[both].Parts[0].Text; !strings.Contains(text, stub) || strings.Contains(text, "line 3 of a.ts") {
		t.Errorf("want the stub kept and a.ts left out:\n%s", text)
	}
}

// TRIM-7: the agent's prompt names the root, if nothing else does.
func TestRootFromThePrompt(t *testing.T) {
	c := &conv{clock: noon}
	c.add(llm.System, llm.Part{Text: "# Environment\nWorking directory: /home/me/project\n"})
	at := c.read("src/a.ts", 1, 9, 9)
	for range 5 {
		c.read("/home/me/project/src/a.ts", 1, 9, 9)
	}
	expectLeft(t, keep(t), c, at)
}

// TRIM-6: a file that stands twice in a batch counts as one read. The sections of one file need not be next to each other.
func TestBatchWithOneFileTwice(t *testing.T) {
	c := &conv{clock: noon}
	aba := shown("a.ts", 1, 50, 100) + "\n\n" + shown("b.ts", 1, 50, 50) + "\n\n" + shown("a.ts", 51, 100, 100)
	first := c.call("filesystem-read", `{"filePath":["a.ts","b.ts","a.ts"]}`, aba)
	for range 4 {
		c.read("a.ts", 1, 100, 100)
	}
	if p := expectLeft(t, keep(t), c); p.Reads != 6 {
		t.Errorf("%d reads, want 6", p.Reads)
	}
	c.read("a.ts", 1, 100, 100)
	expectLeft(t, keep(t), c, first)
	out, _ := sent(t, keep(t), c.messages)
	text := out[first].Parts[0].Text
	if strings.Contains(text, "of a.ts\n") || !strings.Contains(text, shown("b.ts", 1, 50, 50)) || strings.Count(text, mark) != 2 {
		t.Errorf("want two lines around b.ts:\n%s", text)
	}
}

// TRIM-6: a batch whose result cannot be split leaves only when each of its files has K newer reads.
func TestBatchInOnePiece(t *testing.T) {
	c := &conv{clock: noon}
	both := c.call("filesystem-read", `{"filePath":["a.ts","b.ts"]}`, strings.Repeat("the text of two files\n", 20))
	for range 5 {
		c.read("a.ts", 1, 9, 9)
	}
	expectLeft(t, keep(t), c)
	for range 5 {
		c.read("b.ts", 1, 9, 9)
	}
	if p := expectLeft(t, keep(t), c, both); p.Dangling == 0 {
		t.Error("it is not known whether its content is in view: it should count as dangling")
	}
}

// TRIM-8, TRIM-11: a directory listing has a placeholder of its own.
func TestListingLine(t *testing.T) {
	c := &conv{clock: noon}
	for range 6 {
		c.call("LS", `{"path":"src"}`, strings.Repeat("Button.tsx\n", 20))
	}
	p := keep(t).Plan(c.messages)
	if len(p.Edits) != 1 || !strings.Contains(p.Edits[0].Text, "src: an older listing") {
		t.Errorf("%+v", p.Edits)
	}
}

// TRIM-11: a placeholder with any text of the caller's is valid in JSON.
func TestCustomLineInJSON(t *testing.T) {
	c := &conv{clock: noon}
	batch := func(names ...string) string {
		var rs []map[string]any
		for _, n := range names {
			rs = append(rs, map[string]any{"query": n, "result": "1 | one\n2 | two\n3 | three", "success": true})
		}
		b, _ := json.Marshal(rs)
		return string(b)
	}
	both := c.call("read_files", `{"files":[{"path":"a.ts"},{"path":"b.ts"}]}`, batch("a.ts", "b.ts"))
	for range 5 {
		c.call("read_files", `{"files":[{"path":"a.ts"}]}`, batch("a.ts"))
	}
	out, _ := sent(t, newEngine(t, Config{Policy: KeepLatest, Placeholder: "gone: \"{path}\" \\ {lines}"}), c.messages)
	text := out[both].Parts[0].Text
	var rs []struct{ Result string }
	if err := json.Unmarshal([]byte(text), &rs); err != nil || !strings.Contains(text, "gone: ") {
		t.Errorf("%v: %s", err, text)
	}
}

// TRIM-11: a text that is not longer than its placeholder stays: a result, a section of a batch, the answer to an old plan.
func TestShorterThanItsPlaceholder(t *testing.T) {
	for name, config := range map[string]Config{"en": {}, "zh": {Language: "zh"}, "own": {Placeholder: "gone: {path} {lines}"}} {
		config.Policy = KeepLatest
		e := newEngine(t, config)
		size := len(e.words.older([]string{"a.ts"}, "", false))
		for _, n := range []int{0, 1, size, size + 1, size + 2} {
			c := &conv{clock: noon}
			for range 6 {
				c.call("Read", `{"file_path":"a.ts"}`, strings.Repeat("x", n))
			}
			out, _ := sent(t, e, c.messages)
			if got := len(out[1].Parts[0].Text); got != min(n, size) {
				t.Errorf("%s: %d bytes are sent as %d", name, n, got)
			}
		}
	}
	c := &conv{clock: noon}
	short := "📄 b.ts (lines 1-1/1)\n1→short\n\n"
	both := c.call("filesystem-read", `{"filePath":["b.ts","a.ts"]}`, short+shown("a.ts", 1, 50, 50))
	for range 5 {
		c.call("filesystem-read", `{"filePath":["b.ts","a.ts"]}`, short+shown("a.ts", 1, 50, 50))
	}
	out, p := sent(t, keep(t), c.messages)
	if text := out[both].Parts[0].Text; len(p.Omissions) != 1 || !strings.HasPrefix(text, short+mark+"a.ts") || p.Dangling != 0 {
		t.Errorf("%q, dangling %d", text, p.Dangling)
	}
}

// TRIM-5: a result belongs to the call with its id in the newest message before it, if that has one call of this id.
func TestIdsUsedAgain(t *testing.T) {
	c := &conv{clock: noon}
	part := func(name string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: "call_0", Name: "filesystem-read", Args: fmt.Sprintf(`{"filePath":%q}`, name)}
	}
	c.add(llm.Assistant, part("a.ts"), part("b.ts"))
	c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "call_0", Text: shown("a.ts", 1, 50, 50)},
		llm.Part{Kind: llm.ToolResult, CallID: "call_0", Text: shown("b.ts", 1, 50, 50)})
	c.read("a.ts", 1, 50, 50)
	c.add(llm.Assistant, part("never answered.ts"))
	c.add(llm.Assistant, part("b.ts"))
	c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "call_0", Text: shown("b.ts", 51, 100, 100)})
	if p := lossless(t).Plan(c.messages); len(p.Omissions) != 0 {
		t.Errorf("which result shows a.ts is not certain: %+v", p.Omissions)
	}
	c.read("b.ts", 51, 100, 100)
	p := lossless(t).Plan(c.messages)
	if len(p.Omissions) != 1 || p.Omissions[0].Paths[0] != "b.ts" {
		t.Errorf("the second b.ts is a repeat: %+v", p.Omissions)
	}
	if len(p.Edits) != 1 || !strings.Contains(p.Edits[0].Text, "b.ts lines 51-100 unchanged: shown above by an earlier read (lines 51-100)") {
		t.Errorf("an id of several calls names none: %+v", p.Edits)
	}
}

// A result is not taken for that of another call of the same id in the same message. The result of that call may be missing.
func TestResultOfTwoCalls(t *testing.T) {
	c := &conv{clock: noon}
	c.add(llm.Assistant,
		llm.Part{Kind: llm.ToolCall, CallID: "call_0", Name: "run_shell_command", Args: `{"command":"make test"}`},
		llm.Part{Kind: llm.ToolCall, CallID: "call_0", Name: "read_file", Args: `{"file_path":"a.ts"}`})
	c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "call_0", Text: strings.Repeat("a line of a.ts\n", 100)})
	for i := range 8 {
		c.call("run_shell_command", fmt.Sprintf(`{"command":"make test %d"}`, i), strings.Repeat(fmt.Sprintf("bed %d is watered\n", i), 100))
	}
	for _, o := range keep(t).Plan(c.messages).Omissions {
		if o.Message == 1 {
			t.Errorf("a read is left out as the output of a command: %+v", o)
		}
	}
}

// TRIM-15: with BySize, of reads of 64 KB or more 3 stay, of 256 KB or more 1.
func TestBySize(t *testing.T) {
	for _, tt := range []struct{ size, keep int }{{400, 5}, {64<<10 - 1, 5}, {64 << 10, 3}, {256<<10 - 1, 3}, {256 << 10, 1}} {
		c := &conv{clock: noon}
		var at []int
		for range 6 {
			head := "📄 big.ts (lines 1-1/1)\n1→"
			at = append(at, c.call("filesystem-read", `{"filePath":"big.ts"}`, head+strings.Repeat("x", tt.size-len(head))))
		}
		expectLeft(t, keep(t), c, at[0])
		expectLeft(t, newEngine(t, Config{Policy: KeepLatest, BySize: true}), c, at[:6-tt.keep]...)
	}
}

// TRIM-2: K can be configured.
func TestKeepReads(t *testing.T) {
	c := &conv{clock: noon}
	var at []int
	for range 4 {
		at = append(at, c.read("a.ts", 1, 9, 9))
	}
	expectLeft(t, newEngine(t, Config{Policy: KeepLatest, KeepReads: 1}), c, at[:3]...)
	expectLeft(t, newEngine(t, Config{Policy: KeepLatest, KeepReads: -1}), c)
}

// TRIM-14: the log says how many results were shortened, which paths, and how much was saved.
func TestTrimsAreLogged(t *testing.T) {
	c := &conv{clock: noon}
	for range 6 {
		c.read("src/a.ts", 1, 90, 90)
	}
	var log bytes.Buffer
	e := newEngine(t, Config{Policy: KeepLatest, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	e.Plan(c.messages)
	for _, want := range []string{"results=1", "src/a.ts", "tokens="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %q lacks %q", log.String(), want)
		}
	}
}

func TestUnknownSettings(t *testing.T) {
	if _, err := New(Config{Policy: "sometimes"}); err == nil || !strings.Contains(err.Error(), "keep-latest") {
		t.Errorf("unknown policy: %v should name the known ones", err)
	}
	if _, err := New(Config{Language: "tlh"}); err == nil || !strings.Contains(err.Error(), "zh") {
		t.Errorf("unknown language: %v should name the known ones", err)
	}
}

// TRIM-16: an agent's own stub does not count as a read, and stays. If the read to which it points has left, the stub counts as
// dangling.
func TestOwnStubsOfAgents(t *testing.T) {
	c := &conv{clock: noon}
	args := map[string]any{"file_path": "/home/me/project/a.ts"}
	file := "1\tone\n2\ttwo\n3\tthree" + strings.Repeat(" and so on", 20)
	first := c.call("Read", args, file)
	for range 6 {
		c.call("Read", args, "Wasted call — file unchanged since your last Read. Use what you have.")
	}
	expectLeft(t, keep(t), c)
	c.call("Read", args, strings.ReplaceAll(file, "o", "0"))
	p := expectLeft(t, newEngine(t, Config{Policy: KeepLatest, KeepReads: 1}), c, first)
	if p.Reads != 2 || p.Dangling != 7 {
		t.Errorf("reads %d, dangling %d; want 2 and 7: the read itself and the six stubs", p.Reads, p.Dangling)
	}
}
