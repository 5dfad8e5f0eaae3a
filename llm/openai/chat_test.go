package openai

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
)

const chatSample = `{
  "model": "m-1", "max_tokens": 5, "max_completion_tokens": 900, "stream": true, "prompt_cache_key": "k1",
  "messages": [
    {"role": "developer", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "Look \"here\".\n"}, {"type": "image_url", "image_url": {"url": "data:"}}]},
    {"tool_calls": [
       {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a.go\"}"}},
       {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin\n"}},
       {"id": "c3", "type": "function", "function": {"name": "read", "arguments": {"path": "b.go"}}}],
     "reasoning_content": "hm", "content": null, "role": "assistant"},
    {"role": "tool", "tool_call_id": "c1", "content": "package a"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "done"}]},
    {"role": "tool", "tool_call_id": "c3", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
    {"role": "assistant", "content": "That is all.", "refusal": null, "tool_calls": null},
    {"role": "user", "content": "Thanks.", "name": "someone"},
    {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
    {"role": "function", "name": "old", "content": "result"}
  ],
  "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}},
            {"type": "custom", "custom": {"name": "patch"}}, {"type": "web_search"}],
  "logit_bias": {"1": [{}]}
}`

type part struct {
	role     llm.Role
	kind     llm.Kind
	text, id string
	editable bool
}

func parts(req *llm.Request) (out []part) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			out = append(out, part{m.Role, p.Kind, p.Text, p.CallID, p.Span.Valid()})
		}
	}
	return out
}

// TRIM-3: the status of a result says whether the call failed, in addition to the text.
func TestChatResultStatus(t *testing.T) {
	for member, want := range map[string]bool{
		`"messageStatus":"error"`: true, `"status":"error"`: true, `"messageStatus":"success","status":"error"`: true,
		`"messageStatus":"success"`: false, `"messageStatus":null`: false, `"messageStatus":true`: false, `"error":"status"`: false,
	} {
		body := `{"messages":[{"role":"tool","tool_call_id":"1","content":"no such file",` + member + `}]}`
		req, err := Chat{}.Decode([]byte(body))
		if err != nil || req.Messages[0].Parts[0].IsError != want {
			t.Errorf("%s: %v, want %v; %v", member, !want, want, err)
			continue
		}
		out, err := Chat{}.Patch(nil, []byte(body), req, []llm.Edit{{Message: 0, Part: 0, Text: "short"}})
		if want := strings.Replace(body, "no such file", "short", 1); err != nil || string(out) != want {
			t.Errorf("patched: %s, %v", out, err)
		}
	}
}

func TestDecodeChat(t *testing.T) {
	req, err := Chat{}.Decode([]byte(chatSample))
	if err != nil {
		t.Fatal(err)
	}
	if req.Model != "m-1" || req.MaxTokens != 900 || !req.Stream || req.SessionKey != "k1" || req.Chained {
		t.Errorf("%+v", req)
	}
	if len(req.Tools) != 3 || req.Tools[0].Name != "read" || string(req.Tools[0].Schema) != `{"type": "object"}` ||
		req.Tools[1].Name != "patch" || req.Tools[2].Name != "web_search" {
		t.Errorf("tools %+v", req.Tools)
	}
	want := []part{
		{llm.System, llm.Text, "You help.", "", true},
		{llm.User, llm.Text, "Look \"here\".\n", "", true},
		{llm.User, llm.Opaque, "", "", false},
		{llm.Assistant, llm.Thinking, "hm", "", false},
		{llm.Assistant, llm.ToolCall, "", "c1", true},
		{llm.Assistant, llm.ToolCall, "", "c2", true},
		{llm.Assistant, llm.ToolCall, "", "c3", true},
		{llm.Tool, llm.ToolResult, "package a", "c1", true},
		{llm.Tool, llm.ToolResult, "done", "c2", true},
		{llm.Tool, llm.ToolResult, "one\ntwo", "c3", true},
		{llm.Assistant, llm.Text, "That is all.", "", true},
		{llm.User, llm.Text, "Thanks.", "", true},
		{llm.Assistant, llm.ToolCall, "", "", true},
		{llm.Tool, llm.ToolResult, "result", "", true},
	}
	if got := parts(req); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if len(req.Messages) != 10 {
		t.Errorf("%d messages", len(req.Messages))
	}
	calls := req.Messages[2].Parts[1:]
	if calls[0].Args != `{"path":"a.go"}` || calls[1].Args != "*** Begin\n" || calls[2].Args != `{"path": "b.go"}` || calls[1].Name != "patch" {
		t.Errorf("%+v", calls)
	}
}

func TestDecodeChatRefuses(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"messages":{}}`, `{"messages":null}`, `{"messages":["x"]}`, `{"messages":[{"content":"x"}]}`,
		`{"messages":[{"role":5,"content":"x"}]}`, `{"messages":[{"role":"user","content":5}]}`, `{"messages":[{"role":"user","content":{}}]}`,
		`{"messages":[{"role":"user","content":["x"]}]}`, `{"messages":[{"role":"user","content":"a","content":"b"}]}`,
		`{"messages":[{"role":"assistant","tool_calls":{}}]}`, `{"messages":[{"role":"assistant","tool_calls":["x"]}]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":5}]}]}`, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":5}}]}]}`,
		`{"messages":[{"role":"tool","tool_call_id":5,"content":"x"}]}`, `{"messages":[{"role":"tool","content":5}]}`,
		`{"messages":[],"messages":[]}`, `{"messages":[],"tools":{}}`, `{"messages":[],"tools":["x"]}`, `{"messages":[],"model":[]}`,
		`{"messages":[]`, `{"messages":[]}]`, `{"messages":[{"role":"user","content":"\u12"}]}`,
		`{"messages":[{"role":"user","content":` + strings.Repeat("[", 100000),
	} {
		if req, err := (Chat{}).Decode([]byte(body)); err == nil {
			t.Errorf("%.80s passed: %+v", body, req)
		}
	}
}

// TRIM-10: the time that an agent adds to a message is read in every known form. Any other value is ignored.
func TestTimestamp(t *testing.T) {
	want := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, known := range map[string]bool{
		`"2026-03-01T12:00:00Z"`: true, `"2026-03-01T13:00:00.000+01:00"`: true, `1772366400`: true, `1772366400000`: true,
		`"noon"`: false, `""`: false, `-1`: false, `0`: false, `null`: false, `{}`: false, `1.5`: false,
	} {
		req, err := Chat{}.Decode([]byte(`{"model":"m","messages":[{"role":"user","timestamp":` + text + `,"content":"a"},{"role":"tool","tool_call_id":"c","content":"b"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Messages[0].Time; got.Equal(want) != known || got.IsZero() == known || !req.Messages[1].Time.IsZero() {
			t.Errorf("%s: %v, %v", text, got, req.Messages[1].Time)
		}
	}
}
