package anthropic

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

const sample = `{
  "model": "m-1", "max_tokens": 1000, "stream": true,
  "messages": [
    {"role": "user", "content": "Look at \"a.go\".\n"},
    {"content": [
       {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
       {"type": "text", "text": "I read it.", "cache_control": {"type": "ephemeral"}},
       {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/home/me/project/a.go"}},
       {"type": "tool_use", "id": "t2", "name": "Read", "input": {}}], "role": "assistant"},
    {"role": "user", "content": [
       {"type": "tool_result", "tool_use_id": "t1", "content": "1\tpackage a"},
       {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [{"type": "text", "text": "no such file"}]},
       {"type": "text", "text": "And now?"},
       {"type": "image", "source": {"type": "base64", "data": "aGk="}}]},
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "xx"}, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]},
    {"role": "user", "content": [
       {"type": "tool_result", "tool_use_id": "t3", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
       {"type": "tool_result", "tool_use_id": "t4", "content": [{"type": "image", "source": {}}]},
       {"type": "tool_result", "tool_use_id": "t5"}]},
    {"role": "system", "content": [{"type": "text", "text": "A reminder."}]}
  ],
  "system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Briefly."}],
  "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}, {"type": "web_search_1", "name": "web_search"}],
  "metadata": {"user_id": "user_1f_account__session_0b1c"},
  "unknown": [1, {"x": null}]
}`

func TestDecode(t *testing.T) {
	req, err := Messages{}.Decode([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if req.Model != "m-1" || req.MaxTokens != 1000 || !req.Stream || req.Chained || req.SessionKey != "0b1c" {
		t.Errorf("%+v", req)
	}
	if len(req.Tools) != 2 || req.Tools[0].Name != "Read" || req.Tools[0].Description != "Reads." ||
		string(req.Tools[0].Schema) != `{"type": "object"}` || req.Tools[1].Name != "web_search" || req.Tools[1].Schema != nil {
		t.Errorf("tools %+v", req.Tools)
	}
	type part struct {
		role     llm.Role
		kind     llm.Kind
		text, id string
		editable bool
	}
	want := []part{
		{llm.System, llm.Text, "You help.", "", true},
		{llm.System, llm.Text, "Briefly.", "", true},
		{llm.User, llm.Text, "Look at \"a.go\".\n", "", true},
		{llm.Assistant, llm.Thinking, "hm", "", true},
		{llm.Assistant, llm.Text, "I read it.", "", true},
		{llm.Assistant, llm.ToolCall, "", "t1", true},
		{llm.Assistant, llm.ToolCall, "", "t2", true},
		{llm.Tool, llm.ToolResult, "1\tpackage a", "t1", true},
		{llm.Tool, llm.ToolResult, "no such file", "t2", true},
		{llm.User, llm.Text, "And now?", "", true},
		{llm.User, llm.Opaque, "", "", false},
		{llm.Assistant, llm.Thinking, "", "", true},
		{llm.Assistant, llm.Opaque, "", "", false},
		{llm.Tool, llm.ToolResult, "one\ntwo", "t3", false},
		{llm.Tool, llm.ToolResult, "", "t4", false},
		{llm.Tool, llm.ToolResult, "", "t5", false},
		{llm.System, llm.Text, "A reminder.", "", true},
	}
	var got []part
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			got = append(got, part{m.Role, p.Kind, p.Text, p.CallID, p.Span.Valid()})
			if (p.Kind == llm.Opaque || p.Kind == llm.Thinking) != strings.HasPrefix(p.Raw, "{") {
				t.Errorf("raw %q of %+v", p.Raw, p)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if n := len(req.Messages); n != 8 {
		t.Errorf("%d messages", n)
	}
	results := req.Messages[3].Parts
	if results[0].IsError || !results[1].IsError {
		t.Error("is_error")
	}
	if call := req.Messages[2].Parts[2]; call.Name != "Read" || call.Args != `{"file_path": "/home/me/project/a.go"}` {
		t.Errorf("%+v", call)
	}
}

// The same text gives the same conversation in every form: as a string, as a block, and with or without a cache marker.
func TestStringAndBlockDecodeAlike(t *testing.T) {
	forms := []string{
		`{"system":"s","messages":[{"role":"user","content":"a\u00e9"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}]}`,
		`{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
		  "messages":[{"content":[{"text":"aé","type":"text"}],"role":"user"},
		  {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"r"}],"is_error":false,"cache_control":{"type":"ephemeral"}}]}]}`,
	}
	var decoded [][]llm.Message
	for _, form := range forms {
		req, err := Messages{}.Decode([]byte(form))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range req.Messages {
			for i := range m.Parts {
				if !m.Parts[i].Span.Valid() {
					t.Errorf("no span: %+v", m.Parts[i])
				}
				m.Parts[i].Span = llm.Span{}
			}
		}
		decoded = append(decoded, req.Messages)
	}
	if !reflect.DeepEqual(decoded[0], decoded[1]) {
		t.Errorf("%+v\n%+v", decoded[0], decoded[1])
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `"x"`, `null`, `{"messages":{}}`, `{"messages":"x"}`, `{"messages":null}`, `{"messages":[1]}`, `{"messages":[[]]}`,
		`{"messages":[{"role":"user"}]}`, `{"messages":[{"role":"user","content":null}]}`, `{"messages":[{"role":"user","content":5}]}`,
		`{"messages":[{"role":"user","content":{}}]}`, `{"messages":[{"role":null,"content":"x"}]}`, `{"messages":[{"content":"x"}]}`,
		`{"messages":[{"role":1,"content":"x"}]}`, `{"messages":[{"role":"user","content":["x"]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":5}]}]}`, `{"messages":[{"role":"user","content":[{"type":"text"}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":5}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":5,"content":"x"}]}]}`,
		`{"messages":[{"role":"user","content":"a","content":"b"}]}`, `{"messages":[{"role":"user","content":"a","content":[]}]}`,
		`{"messages":[{"role":"user","content":[],"content":"a"}]}`, `{"messages":[{"role":"user","content":[],"content":[]}]}`,
		`{"messages":[{"role":"user","role":"user","content":"a"}]}`, `{"messages":[],"messages":[]}`,
		`{"messages":[{"role":"user","c\u006fntent":"a"}]}`, `{"messages":[],"system":5}`, `{"messages":[],"tools":{}}`, `{"messages":[],"tools":[5]}`,
		`{"messages":[],"model":5}`, `{"messages":[]`, `{"messages":[]}x`, `{"messages":[{"role":"user","content":"a` + "\n" + `"}]}`,
		`{"messages":[{"role":"user","content":"\q"}]}`, `{"messages":[],"x":tru}`,
		`{"messages":[],"x":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
	} {
		if req, err := (Messages{}).Decode([]byte(body)); err == nil {
			t.Errorf("%.80s passed: %+v", body, req)
		}
	}
}

// A result without content is decoded, but it cannot be edited.
func TestResultWithoutContent(t *testing.T) {
	for _, content := range []string{``, `,"content":null`, `,"content":[]`, `,"content":[{"type":"text","text":null}]`} {
		req, err := Messages{}.Decode([]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"` + content + `}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "t"}}}
		if len(req.Messages) != 1 || !reflect.DeepEqual(req.Messages[0], want) {
			t.Errorf("%s: %+v", content, req.Messages)
		}
	}
}

// Decoding a longer conversation does not change its earlier messages.
func TestDecodeIsStableUnderAppend(t *testing.T) {
	full, err := Messages{}.Decode([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	cut := sample[:strings.Index(sample, `,
    {"role": "system"`)] + `], "system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Briefly."}]}`
	part, err := Messages{}.Decode([]byte(cut))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range part.Messages[1:] {
		if !reflect.DeepEqual(m, full.Messages[i+1]) {
			t.Errorf("message %d: %+v, %+v", i+1, m, full.Messages[i+1])
		}
	}
}
