package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

const control = `"cache_control":{"type":"ephemeral"}`

func text(s string) []llm.Part { return []llm.Part{{Text: s}} }

func TestMarks(t *testing.T) { // CTX-11
	req := &llm.Request{Model: "m", MaxTokens: 1, Cache: &llm.Cache{Frontier: 3}, Messages: []llm.Message{
		{Role: llm.System, Parts: text("s1")}, {Role: llm.System, Parts: text("s2")},
		{Role: llm.User, Parts: text("u1")},
		{Role: llm.User, Local: true, Parts: text("progress")},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "{}"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "1", Text: "r"}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "u2"}, {Kind: llm.Opaque, Raw: `{"type":"image","source":{}}`}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Raw: `{"type":"thinking","thinking":"t","signature":"c2ln"}`}, {Text: "a2"}}},
		{Role: llm.User, Parts: text("u3")},
	}}
	req.AddTool("a", "", nil)
	encode := func() string {
		t.Helper()
		body, err := Messages{}.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	want := `{"model":"m","max_tokens":1,"tools":[{"name":"a","input_schema":{"type":"object"}}],` +
		`"system":[{"type":"text","text":"s1"},{"type":"text","text":"s2",` + control + `}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"u1",` + control + `}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"text","text":"u2",` + control + `},{"type":"image","source":{}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"c2ln"},{"type":"text","text":"a2"}]},` +
		`{"role":"user","content":[{"type":"text","text":"u3",` + control + `}]}]}`
	if got := encode(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}

	req.Messages, req.Cache = req.Messages[2:3], &llm.Cache{}
	want = `{"model":"m","max_tokens":1,"tools":[{"name":"a","input_schema":{"type":"object"},` + control + `}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"u1",` + control + `}]}]}`
	if got := encode(); got != want {
		t.Errorf("without system text:\n%s\nwant\n%s", got, want)
	}
	req.Messages, req.Tools, req.Cache = []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.Opaque, Raw: `{"type":"image","source":{}}`}}}}, nil, &llm.Cache{}
	if got := encode(); strings.Contains(got, "cache_control") {
		t.Errorf("nothing can be marked: %s", got)
	}
}

// For any Cache there are four markers at most. Without the markers, the body equals the body of a request without Cache.
func TestMarksAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := &llm.Request{Model: "m", MaxTokens: 5}
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.System, llm.User, llm.Assistant, llm.Tool}).Draw(t, "role"), Local: rapid.IntRange(0, 5).Draw(t, "local") == 0}
			for range rapid.IntRange(0, 3).Draw(t, "parts") {
				m.Parts = append(m.Parts, rapid.SampledFrom([]llm.Part{
					{Text: "x"}, {}, {Kind: llm.Thinking, Raw: `{"type":"thinking","thinking":"t","signature":"s"}`}, {Kind: llm.Thinking},
					{Kind: llm.ToolCall, CallID: "c", Name: "a"}, {Kind: llm.ToolResult, CallID: "c", Text: "r", IsError: true}, {Kind: llm.Opaque, Raw: `{"type":"image","source":{}}`},
				}).Draw(t, "part"))
			}
			req.Messages = append(req.Messages, m)
		}
		if rapid.Bool().Draw(t, "tool") {
			req.AddTool("a", "", nil)
		}
		want, err := Messages{}.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		req.Cache = &llm.Cache{Frontier: rapid.IntRange(-1, 14).Draw(t, "frontier"), Rolling: rapid.SliceOfN(rapid.IntRange(-1, 14), 0, 4).Draw(t, "rolling")}
		if rapid.Bool().Draw(t, "default") {
			req.Cache.Rolling = nil
		}
		body, err := Messages{}.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(body, []byte(control)); n > 4 {
			t.Fatalf("%d marks: %s", n, body)
		}
		if got := bytes.ReplaceAll(body, []byte(","+control), nil); !bytes.Equal(got, want) || !json.Valid(body) {
			t.Fatalf("%s\nwithout marks %s\nwant %s", body, got, want)
		}
	})
}

// Thinking of another provider is left out when the conversation continues here.
func TestEncodeForeignReasoning(t *testing.T) { // CTX-3
	body, err := Messages{}.Encode(&llm.Request{Model: "m", MaxTokens: 1, Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{
		{Kind: llm.Thinking, Raw: `{"type":"reasoning","id":"rs_1"}`}, {Kind: llm.Thinking, Raw: `"words"`}, {Kind: llm.Thinking, Raw: `{"reasoning":"words"}`}, {Text: "x"}}}}})
	if want := `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`; err != nil || string(body) != want {
		t.Errorf("%s, %v", body, err)
	}
}
