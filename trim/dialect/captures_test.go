package dialect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// captures returns the captured requests of real agents, or skips the test.
func captures(t testing.TB) []string {
	dir := os.Getenv("STET_CAPTURES")
	if dir == "" {
		recorded := os.Getenv("STET_TRANSCRIPTS")
		if recorded == "" {
			recorded = filepath.Join("..", "..", "..", "shared", "transcripts")
		}
		dir = filepath.Join(filepath.Dir(filepath.Clean(recorded)), "captures")
	}
	all, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, ".meta.jsonl") })
	if len(all) == 0 {
		t.Skip("no captures")
	}
	return all
}

// exchange is one call of a captured session and its result.
type exchange struct {
	name, args, text string
	isError          bool
}

// exchanges reads the calls and results of a captured session from its requests, in any of the three wire formats. It returns
// each only once.
func exchanges(t testing.TB, file string) []exchange {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls, done := map[string]exchange{}, map[string]bool{}
	var out []exchange
	finish := func(id string, content json.RawMessage, isError bool) {
		if c, ok := calls[id]; ok && !done[id] {
			done[id] = true
			c.text, c.isError = textOf(content), isError
			out = append(out, c)
		}
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		line := in.Bytes()
		var raw struct {
			Raw string `json:"_raw"`
		}
		if json.Unmarshal(line, &raw) == nil && raw.Raw != "" {
			line = []byte(raw.Raw)
		}
		var body struct {
			Messages []message       `json:"messages"`
			Input    json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(line, &body); err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(body.Input, []byte("[")) {
			_ = json.Unmarshal(body.Input, &body.Messages) // items of other forms are not needed
		}
		for _, m := range body.Messages {
			m.each(calls, finish)
		}
	}
	return out
}

// message is a message or an item in any of the three wire formats.
type message struct {
	Type, Role, Name, Arguments string
	Input, Output, Content      json.RawMessage
	CallID                      string `json:"call_id"`
	ToolCallID                  string `json:"tool_call_id"`
	ToolCalls                   []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (m *message) each(calls map[string]exchange, finish func(string, json.RawMessage, bool)) {
	switch m.Type {
	case "function_call":
		calls[m.CallID] = exchange{name: m.Name, args: m.Arguments}
	case "custom_tool_call":
		calls[m.CallID] = exchange{name: m.Name, args: textOf(m.Input)}
	case "function_call_output", "custom_tool_call_output":
		finish(m.CallID, m.Output, false)
	}
	for _, c := range m.ToolCalls {
		calls[c.ID] = exchange{name: c.Function.Name, args: c.Function.Arguments}
	}
	if m.Role == "tool" {
		finish(m.ToolCallID, m.Content, false)
	}
	var blocks []struct {
		Type, ID, Name string
		Input, Content json.RawMessage
		ToolUseID      string `json:"tool_use_id"`
		IsError        bool   `json:"is_error"`
	}
	_ = json.Unmarshal(m.Content, &blocks) // a string is not a list of blocks
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			calls[b.ID] = exchange{name: b.Name, args: string(b.Input)}
		case "tool_result":
			finish(b.ToolUseID, b.Content, b.IsError)
		}
	}
}

func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks)
	texts := make([]string, len(blocks))
	for i := range blocks {
		texts[i] = blocks[i].Text
	}
	return strings.Join(texts, "\n")
}

// readTools are the tools that read files, and shells that may do it.
var readTools = map[string]bool{
	"read": true, "Read": true, "read_file": true, "read_files": true, "fetch_lines": true, "filetools_fetch_lines": true,
}

// In every captured session each read is recognised. All agents show the same lines of a file.
func TestCaptures(t *testing.T) {
	seen := map[string][]string{} // file and line → the texts shown, by all agents
	for _, file := range captures(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		reads, shown := 0, 0
		for _, x := range exchanges(t, file) {
			a := Default().Action(x.name, x.args)
			if readTools[x.name] && a.Op != Read {
				t.Errorf("%s: %s %s is no read", name, x.name, x.args)
			}
			if a.Op != Read {
				continue
			}
			res := Default().Result(a, x.text, x.isError)
			checkConsistent(t, a, x.text, res, x.isError)
			missing := strings.Contains(x.args, "missing.py")
			if missing != res.Failed && !strings.Contains(name, "limits") {
				t.Errorf("%s: %s %s: failed %v: %.200s", name, x.name, x.args, res.Failed, x.text)
			}
			reads++
			for _, s := range res.Sections {
				if s.Cut || s.Failed || s.Unchanged {
					continue
				}
				if s.First < 1 || len(s.Lines) == 0 && !strings.Contains(name, "limits") {
					t.Errorf("%s: %s %s: lines from %d: %q", name, x.name, x.args, s.First, s.Lines)
				}
				shown++
				note(seen, s)
			}
		}
		if !strings.Contains(name, "compact") && (reads < 4 || shown < reads/3) {
			t.Errorf("%s: %d reads, lines known of %d", name, reads, shown)
		}
		t.Logf("%s: %d reads, lines known of %d", name, reads, shown)
	}
	for key, texts := range seen {
		// The sessions change line 5, and one session changes one more line.
		if len(texts) > 2 {
			t.Errorf("%s is shown as %q", key, texts)
		}
	}
	if len(seen) > 0 && len(seen) < 100 {
		t.Errorf("only %d lines were shown", len(seen))
	}
}

func note(seen map[string][]string, s Section) {
	base := filepath.Base(s.Path)
	if base == "crlf.txt" {
		return // some agents remove the carriage returns
	}
	for i, l := range s.Lines {
		key := fmt.Sprintf("%s:%d", base, s.First+i)
		if !slices.Contains(seen[key], l) {
			seen[key] = append(seen[key], l)
		}
	}
	if s.Total > 0 {
		key := base + " total"
		if total := fmt.Sprint(s.Total); !slices.Contains(seen[key], total) {
			seen[key] = append(seen[key], total)
		}
	}
}
