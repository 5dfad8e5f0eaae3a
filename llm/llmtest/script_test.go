package llmtest

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TestRender shows the call that an action becomes for each agent.
func TestRender(t *testing.T) {
	read, lines := Read("src/a.go"), ReadLines("src/a.go", 10, 19)
	edit, create := Edit("src/a.go", "x = 1", "x = 2"), Write("b.txt", "one\ntwo\n")
	tests := []struct {
		agent, tool, properties, required string
		action                            Action
		want                              string
	}{
		{"opencode", "read", "filePath offset limit", "filePath", read, `{"filePath":"/p/src/a.go"}`},
		{"opencode", "read", "filePath offset limit", "filePath", lines, `{"filePath":"/p/src/a.go","limit":10,"offset":10}`},
		{"opencode", "edit", "filePath oldString newString replaceAll", "filePath", edit, `{"filePath":"/p/src/a.go","newString":"x = 2","oldString":"x = 1"}`},
		{"opencode", "write", "filePath content", "", create, `{"content":"one\ntwo\n","filePath":"/p/b.txt"}`},
		{"opencode", "apply_patch", "patchText", "patchText", edit, `{"patchText":"*** Begin Patch\n*** Update File: src/a.go\n@@\n-x = 1\n+x = 2\n*** End Patch\n"}`},
		{"Codex", "apply_patch", "", "", create, "*** Begin Patch\n*** Add File: b.txt\n+one\n+two\n*** End Patch\n"},
		{"Codex", "exec_command", "cmd workdir", "cmd", read, `{"cmd":"cat src/a.go"}`},
		{"Codex", "exec_command", "cmd workdir", "cmd", lines, `{"cmd":"sed -n '10,19p' src/a.go"}`},
		{"older Codex", "shell", "command:array", "command", read, `{"command":["bash","-lc","cat src/a.go"]}`},
		{"Continue", "Read", "filepath", "filepath", lines, `{"filepath":"/p/src/a.go"}`},
		{"Continue", "MultiEdit", "file_path edits:array", "file_path edits", edit, `{"edits":[{"new_string":"x = 2","old_string":"x = 1"}],"file_path":"/p/src/a.go"}`},
		{"Qwen", "read_file", "file_path offset limit", "file_path", lines, `{"file_path":"/p/src/a.go","limit":10,"offset":9}`},
		{"Qwen", "run_shell_command", "command is_background:boolean", "command is_background", Shell("ls"), `{"command":"ls","is_background":false}`},
		{"Cline", "read_files", "files:array", "files", lines, `{"files":[{"end_line":19,"path":"/p/src/a.go","start_line":10}]}`},
		{"Cline", "run_commands", "commands:array", "commands", Shell("ls"), `{"commands":["ls"]}`},
		{"Cline", "editor", "path old_text new_text", "path new_text", edit, `{"new_text":"x = 2","old_text":"x = 1","path":"/p/src/a.go"}`},
		{"Gemini", "read_file", "file_path start_line end_line", "file_path", lines, `{"end_line":19,"file_path":"/p/src/a.go","start_line":10}`},
		{"any", "look", "", "", Call("look", `{"at":1}`), `{"at":1}`},
	}
	for _, test := range tests {
		properties := map[string]any{}
		for p := range strings.FieldsSeq(test.properties) {
			name, kind, found := strings.Cut(p, ":")
			if !found {
				kind = "string"
			}
			properties[name] = map[string]any{"type": kind}
		}
		var described []byte
		if len(properties) > 0 {
			described, _ = json.Marshal(map[string]any{"type": "object", "properties": properties, "required": strings.Fields(test.required)})
		}
		req := &llm.Request{}
		req.AddTool(test.tool, "", described)
		if name, args := render(test.action, "/p", req); name != test.tool || args != test.want {
			t.Errorf("%s: got %s %s\nwant %s %s", test.agent, name, args, test.tool, test.want)
		}
	}
}

// Every agent with recorded requests offers the tools that a script needs. The arguments have all members that the schemas
// require.
func TestRenderForCaptures(t *testing.T) {
	dir := os.Getenv("STET_CAPTURES")
	if dir == "" {
		dir = "../../../shared/captures"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no captured requests: set STET_CAPTURES")
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".meta.jsonl") {
			continue
		}
		wire := responsesWire
		switch {
		case strings.Contains(file, "anthropic"):
			wire = messagesWire
		case strings.Contains(file, "chat"):
			wire = wires[2]
		}
		for n, body := range bodies(t, file) {
			req, err := wire.Codec.Decode(body)
			if err != nil {
				t.Errorf("%s:%d: %v", filepath.Base(file), n+1, err)
				continue
			}
			if len(req.Tools) == 0 {
				continue
			}
			for _, a := range []Action{Read("a"), ReadLines("a", 1, 2), Edit("a", "x", "y"), Write("b", "z"), Shell("ls")} {
				name, args := render(a, "/p", req)
				if err := accepts(req, name, args); err != "" {
					t.Errorf("%s:%d: %v as %s %s: %s", filepath.Base(file), n+1, a.Op, name, args, err)
				}
			}
		}
	}
}

func bodies(t *testing.T, file string) [][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]byte
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var raw struct {
			Raw string `json:"_raw"`
		}
		body := append([]byte(nil), lines.Bytes()...)
		if json.Unmarshal(body, &raw) == nil && raw.Raw != "" {
			body = []byte(raw.Raw)
		}
		out = append(out, body)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return out
}

// accepts returns what is wrong with a call of one of req's tools, or "".
func accepts(req *llm.Request, name, args string) string {
	for _, spec := range req.Tools {
		if spec.Name != name {
			continue
		}
		var s schema
		if json.Unmarshal(spec.Schema, &s) != nil || len(s.Properties) == 0 {
			return "" // the tool takes text
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(args), &got); err != nil {
			return err.Error()
		}
		for _, key := range s.Required {
			if _, ok := got[key]; !ok {
				return key + " is missing"
			}
		}
		for key := range got {
			if !s.has(key) {
				return key + " is unknown"
			}
		}
		return ""
	}
	return "no such tool"
}

func TestStep(t *testing.T) {
	call := func(id string) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id}}}
	}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id}}}
	}
	user := llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}
	greeting := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Got it."}}}
	tests := []struct {
		name     string
		messages []llm.Message
		want     int
	}{
		{"nothing yet", []llm.Message{user}, 0},
		{"an agent's own greeting is no turn", []llm.Message{user, greeting, user}, 0},
		{"by identity", []llm.Message{user, call("call_s02c0"), result("call_s02c0")}, 3},
		{"two results of one turn", []llm.Message{user, call("x_s00c0"), call("x_s00c1"), result("x_s00c0"), result("x_s00c1")}, 1},
		{"results between the calls of one turn", []llm.Message{user, call("x_s00c0"), result("x_s00c0"), call("x_s00c1"), result("x_s00c1")}, 1},
		{"only the end of a compacted history", []llm.Message{user, result("x_s09c0")}, 10},
		{"identities of others", []llm.Message{user, call("a"), result("a"), call("b"), call("c"), result("b"), result("c")}, 2},
	}
	for _, test := range tests {
		if got := Step(&llm.Request{Messages: test.messages}); got != test.want {
			t.Errorf("%s: step %d, want %d", test.name, got, test.want)
		}
	}
}

func TestSideRequests(t *testing.T) {
	s := Script{Turns: []Turn{Say("I read.", Read("a")), Say("Over.")}, Side: "A title"}
	say := func(text string, tools ...string) *llm.Request {
		req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: text}}}}}
		for _, name := range tools {
			req.AddTool(name, "", nil)
		}
		return req
	}
	for _, req := range []*llm.Request{say("Hello"), say("Your task is to create a detailed summary of the conversation so far.", "read")} {
		resp, _, side := s.answer(req, "call", nil)
		if !side || len(resp.Message.Parts) != 1 || resp.Message.Parts[0].Text != "A title" {
			t.Errorf("%q is answered with %+v", req.Messages[0].Parts[0].Text, resp.Message)
		}
	}
	if _, _, side := s.answer(say("Hello", "read"), "call", nil); side {
		t.Error("a request with tools is beside the conversation")
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("日本 🌱 and some more", 5)
	f.Add("\xff\xfe\x80\x80\x80\x80", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n <= 4 || n > 100 {
			return
		}
		if got := strings.Join(pieces(text, n), ""); got != text {
			t.Errorf("pieces of %q make %q", text, got)
		}
	})
}
