package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

const root = "/home/me/project"

// apis are the formats that a player uses. Each has a model that checks what stands before its thinking, if the format has that
// check.
var apis = []struct {
	llm.API
	model string
}{{anthropic.API, "claude-opus-5-5"}, {openai.ChatAPI, "scripted"}, {openai.ResponsesAPI, "gpt-5.5"}}

// player is a small agent. It does what the model asks for, on files in memory, and keeps its conversation.
type player struct {
	api    int
	files  map[string]string
	req    llm.Request
	turns  int
	errors []error
}

func schemaOf(keys ...string) []byte {
	var properties []string
	for _, key := range keys {
		kind := "string"
		if key == "offset" || key == "limit" {
			kind = "integer"
		}
		properties = append(properties, fmt.Sprintf(`%q:{"type":%q}`, key, kind))
	}
	return []byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
}

func newPlayer(api int) *player {
	return &player{api: api, files: map[string]string{"beds.py": beds()}, req: llm.Request{
		Model: apis[api].model, MaxTokens: 900,
		Tools: []tool.Spec{
			{Name: "Read", Description: "Reads a file.", Schema: schemaOf("file_path", "offset", "limit")},
			{Name: "Edit", Description: "Edits a file.", Schema: schemaOf("file_path", "old_string", "new_string")},
			{Name: "Write", Description: "Writes a file.", Schema: schemaOf("file_path", "content")},
			{Name: "Bash", Description: "Runs a command.", Schema: schemaOf("command")},
		},
		Messages: []llm.Message{{Role: llm.System, Parts: []llm.Part{{Text: "You are a test. Working directory: " + root + ". " + strings.Repeat("Follow the rules. ", 100)}}}},
	}}
}

// fork returns a second player with the same conversation.
func (p *player) fork() *player {
	c := *p
	c.req.Messages = append([]llm.Message(nil), p.req.Messages...)
	c.files = maps.Clone(p.files)
	c.turns, c.errors = 0, nil
	return &c
}

func (p *player) say(text string) {
	p.req.Messages = append(p.req.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}})
}

// turn sends a request to a base URL, and does what the answer asks for. It reports whether the answer asked for anything.
func (p *player) turn(ctx context.Context, base string) bool {
	model := endpoint.Client{API: apis[p.api].API, Config: endpoint.Config{BaseURL: base, Key: "dummy", Retries: -1}}
	p.turns++
	resp, err := model.Stream(ctx, &p.req, nil)
	if err != nil {
		p.errors = append(p.errors, fmt.Errorf("turn %d: %w", p.turns, err))
		return false
	}
	p.req.Messages = append(p.req.Messages, resp.Message)
	results := llm.Message{Role: llm.Tool}
	for _, part := range resp.Message.Parts {
		if part.Kind == llm.ToolCall {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.ToolResult, CallID: part.CallID, Text: p.do(part)})
		}
	}
	if len(results.Parts) == 0 {
		return false
	}
	p.req.Messages = append(p.req.Messages, results)
	return true
}

// do does what a call asks for, and returns its result.
func (p *player) do(call llm.Part) string {
	var args struct {
		Path          string `json:"file_path"`
		Old           string `json:"old_string"`
		New           string `json:"new_string"`
		Content       string
		Command       string
		Offset, Limit int
	}
	if err := json.Unmarshal([]byte(call.Args), &args); err != nil {
		return "error: " + err.Error()
	}
	name := strings.TrimPrefix(args.Path, root+"/")
	switch call.Name {
	case "Read":
		var b strings.Builder
		for i, line := range strings.Split(p.files[name], "\n") {
			if n := i + 1; n >= args.Offset && (args.Limit == 0 || n < args.Offset+args.Limit) {
				fmt.Fprintf(&b, "%6d\t%s\n", n, line)
			}
		}
		return b.String()
	case "Edit":
		p.files[name] = strings.Replace(p.files[name], args.Old, args.New, 1)
		return "The file " + args.Path + " has been updated."
	case "Write":
		p.files[name] = args.Content
		return "File created successfully at: " + args.Path
	}
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, "ok %d: one more line of output after %d messages\n", i, len(p.req.Messages))
	}
	return b.String()
}

func beds() string {
	var b strings.Builder
	b.WriteString("\"\"\"The beds of the garden.\"\"\"\n\nWATER_LEVEL = 5\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "def bed_%02d():\n    return Bed(\"row %02d\", plants=%d, litres=%d)\n\n", i, i, i*7%13, i*5%11)
	}
	return b.String()
}

// script returns the session that every player has: it reads a file again and again.
func script() llmtest.Script {
	s := llmtest.Script{Root: root}
	read := llmtest.Read("beds.py")
	for _, do := range []llmtest.Action{
		read, read, llmtest.ReadLines("beds.py", 110, 150), llmtest.Shell("make check"), read,
		llmtest.Edit("beds.py", "WATER_LEVEL = 5", "WATER_LEVEL = 8"), read, llmtest.Shell("make check"), read,
		llmtest.Write("NOTES.md", "# Notes\n\nThe level is 8 now.\n"), llmtest.Shell("make check"), read, read,
	} {
		s.Turns = append(s.Turns, llmtest.Turn{Thinking: fmt.Sprintf("This is step %d.", len(s.Turns)), Text: "I go on.", Do: []llmtest.Action{do}})
	}
	s.Turns = append(s.Turns, llmtest.Turn{Thinking: "It is done.", Text: "The level is 8 now."})
	return s
}

// model starts the scripted model.
func model(t *testing.T, account strictmodel.Account) *llmtest.Server {
	t.Helper()
	m, err := strictmodel.Start(llmtest.Config{Script: script(), Rules: &strictmodel.Rules{Account: account}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}
