package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

const responsesSample = `{
  "model": "m-1", "max_output_tokens": 900, "stream": true, "prompt_cache_key": "k1", "store": false,
  "input": [
    {"role": "developer", "content": "Be brief."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look \"here\".\n"}, {"type": "input_image", "image_url": "data:"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}], "encrypted_content": "xx"},
    {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I read.", "annotations": []}]},
    {"type": "function_call", "call_id": "c1", "name": "read", "namespace": "mcp__x", "arguments": "{\"path\":\"a.go\"}", "status": "completed"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin\n"},
    {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "function_call_output", "call_id": "c1", "output": "package a"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "done"}]},
    {"type": "local_shell_call_output", "id": "c3", "output": "a.go"},
    {"type": "function_call_output", "call_id": "c4", "output": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
    {"type": "tool_search_output", "call_id": "c5", "tools": []},
    {"type": "web_search_call", "id": "ws", "status": "completed"},
    {"type": "message", "role": "assistant", "content": "That is all."},
    {"type": "item_reference", "id": "x"},
    {"type": "message", "role": "user", "content": "Thanks."},
    {"type": "compaction_trigger"}
  ],
  "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"}, "strict": false},
            {"type": "web_search"}, {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "fetch"}]}],
  "instructions": "You help.", "unknown": [{}]
}`

func TestDecodeResponses(t *testing.T) {
	req, err := Responses{}.Decode([]byte(responsesSample))
	if err != nil {
		t.Fatal(err)
	}
	if req.Model != "m-1" || req.MaxTokens != 900 || !req.Stream || req.SessionKey != "k1" || req.Chained {
		t.Errorf("%+v", req)
	}
	if len(req.Tools) != 3 || req.Tools[0].Name != "read" || string(req.Tools[0].Schema) != `{"type": "object"}` ||
		req.Tools[1].Name != "web_search" || req.Tools[2].Name != "fetch" {
		t.Errorf("tools %+v", req.Tools)
	}
	want := []part{
		{llm.System, llm.Text, "You help.", "", true},
		{llm.System, llm.Text, "Be brief.", "", true},
		{llm.User, llm.Text, "Look \"here\".\n", "", true},
		{llm.User, llm.Opaque, "", "", false},
		{llm.Assistant, llm.Thinking, "one\ntwo", "", false},
		{llm.Assistant, llm.Text, "I read.", "", true},
		{llm.Assistant, llm.ToolCall, "", "c1", true},
		{llm.Assistant, llm.ToolCall, "", "c2", true},
		{llm.Assistant, llm.ToolCall, "", "c3", false},
		{llm.Tool, llm.ToolResult, "package a", "c1", true},
		{llm.Tool, llm.ToolResult, "done", "c2", true},
		{llm.Tool, llm.ToolResult, "a.go", "c3", true},
		{llm.Tool, llm.ToolResult, "one\ntwo", "c4", true},
		{llm.Tool, llm.Opaque, "", "", false},
		{llm.Assistant, llm.Opaque, "", "", false},
		{llm.Assistant, llm.Text, "That is all.", "", true},
		{llm.Assistant, llm.Opaque, "", "", false},
		{llm.User, llm.Text, "Thanks.", "", true},
		{llm.User, llm.Opaque, "", "", false},
	}
	if got := parts(req); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if len(req.Messages) != 12 {
		t.Errorf("%d messages", len(req.Messages))
	}
	calls := req.Messages[3].Parts[2:]
	if calls[0].Args != `{"path":"a.go"}` || calls[1].Args != "*** Begin\n" || calls[2].Args != `{"type": "exec", "command": ["ls"]}` {
		t.Errorf("%+v", calls)
	}
}

// New items do not change the decoded messages, except that the last message may get more parts.
func TestDecodeResponsesIsStableUnderAppend(t *testing.T) {
	var whole struct{ Input []json.RawMessage }
	if err := json.Unmarshal([]byte(responsesSample), &whole); err != nil {
		t.Fatal(err)
	}
	var before []llm.Message
	for n := range len(whole.Input) + 1 {
		body, _ := json.Marshal(map[string]any{"input": whole.Input[:n]})
		req, err := Responses{}.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range before {
			now := req.Messages[i]
			if i == len(before)-1 && m.Role == llm.Assistant {
				now.Parts = now.Parts[:len(m.Parts)]
			}
			if !reflect.DeepEqual(m, now) {
				t.Fatalf("%d items: message %d was %+v, is %+v", n, i, m, now)
			}
		}
		before = req.Messages
	}
}

func TestDecodeResponsesText(t *testing.T) {
	req, err := Responses{}.Decode([]byte(`{"input":"Hi.","previous_response_id":"resp_1"}`))
	if err != nil || !req.Chained || len(req.Messages) != 1 || req.Messages[0].Parts[0].Text != "Hi." {
		t.Errorf("%+v, %v", req, err)
	}
	req, err = Responses{}.Decode([]byte(`{"input":"Hi.","conversation":{"id":"c"},"previous_response_id":null}`))
	if err != nil || !req.Chained {
		t.Errorf("%+v, %v", req, err)
	}
	req, err = Responses{}.Decode([]byte(`{"input":[],"previous_response_id":null,"prompt_cache_key":null}`))
	if err != nil || req.Chained || len(req.Messages) != 0 {
		t.Errorf("%+v, %v", req, err)
	}
}

// A result without content is decoded, but it cannot be edited.
func TestResultWithoutContent(t *testing.T) {
	for _, c := range []struct {
		codec llm.Codec
		body  string
	}{
		{Chat{}, `{"messages":[{"role":"tool","tool_call_id":"t"}]}`},
		{Chat{}, `{"messages":[{"role":"tool","tool_call_id":"t","content":null}]}`},
		{Chat{}, `{"messages":[{"role":"tool","tool_call_id":"t","content":[]}]}`},
		{Responses{}, `{"input":[{"type":"function_call_output","call_id":"t"}]}`},
		{Responses{}, `{"input":[{"type":"function_call_output","call_id":"t","output":null}]}`},
		{Responses{}, `{"input":[{"type":"function_call_output","call_id":"t","output":[{"type":"input_image"}]}]}`},
	} {
		req, err := c.codec.Decode([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "t"}}}
		if len(req.Messages) != 1 || !reflect.DeepEqual(req.Messages[0], want) {
			t.Errorf("%s: %+v", c.body, req.Messages)
		}
	}
}

func TestDecodeResponsesRefuses(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `{"input":null}`, `{"input":5}`, `{"input":{}}`, `{"input":["x"]}`, `{"input":[{"role":5,"content":"x"}]}`,
		`{"input":[{"type":"message","content":"x"}]}`, `{"input":[{"role":"user","content":5}]}`, `{"input":[{"role":"user","content":["x"]}]}`,
		`{"input":[{"type":"function_call","arguments":5}]}`, `{"input":[{"type":"function_call","call_id":5}]}`, `{"input":[{"type":"function_call_output","output":5}]}`,
		`{"input":[{"type":"function_call_output","output":["x"]}]}`, `{"input":"x","input":"y"}`, `{"input":"x","input":[]}`, `{"input":[],"input":"x"}`,
		`{"input":[],"input":[]}`, `{"input":[],"instructions":[]}`, `{"input":[],"tools":{}}`, `{"input":[],"tools":["x"]}`, `{"input":[],"model":1}`,
		`{"input":[{"type":"reasoning","summary":["x"]}]}`, `{"input":[]`, `{"input":[]}}`,
		`{"input":[{"type":"x","y":` + strings.Repeat(`{"a":`, 100000),
	} {
		if req, err := (Responses{}).Decode([]byte(body)); err == nil {
			t.Errorf("%.80s passed: %+v", body, req)
		}
	}
}
