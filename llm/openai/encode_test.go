package openai

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestCodecChat(t *testing.T) {
	codectest.Run(t, codectest.Format{
		Codec: Chat{}, Sample: chatSample, Free: true, Thought: `%[1]s`, Opaque: `{"type":"image_url","image_url":{"url":"x"}}`,
	})
}

func TestCodecResponses(t *testing.T) {
	codectest.Run(t, codectest.Format{
		Codec: Responses{}, Sample: responsesSample, Free: true,
		Thought: `{"type":"reasoning","summary":[{"type":"summary_text","text":%[1]s}],"encrypted_content":"xx"}`,
		Opaque:  `{"type":"input_image","image_url":"x"}`,
	})
}

var onTheWire = &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{
	{Role: llm.System, Parts: []llm.Part{{Text: "s"}}},
	{Role: llm.User, Local: true, Parts: []llm.Part{{Text: "progress"}}}, // CTX-3
	{Role: llm.User, Parts: []llm.Part{{Text: "u"}}},
	{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "unsigned"}, {Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "{}"},
		{Kind: llm.ToolCall, CallID: "2", Name: "b", Args: "text"}}},
	{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "1", Text: "r1"}, {Kind: llm.ToolResult, CallID: "2", Text: "r2", IsError: true}}},
	{Role: llm.System, Parts: []llm.Part{{Text: "late"}}},
}}

func TestEncodeOnTheWire(t *testing.T) {
	body, err := Chat{}.Encode(onTheWire)
	want := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}},` +
		`{"id":"2","type":"function","function":{"name":"b","arguments":"text"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"r1"},{"role":"tool","tool_call_id":"2","content":"r2"},` +
		`{"role":"system","content":"late"}],"stream":true,"stream_options":{"include_usage":true}}`
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
	body, err = Responses{}.Encode(onTheWire)
	want = `{"model":"m","store":false,"instructions":"s","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]},` +
		`{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},{"type":"custom_tool_call","call_id":"2","name":"b","input":"text"},` +
		`{"type":"function_call_output","call_id":"1","output":"r1"},{"type":"custom_tool_call_output","call_id":"2","output":"r2"},` +
		`{"type":"message","role":"system","content":[{"type":"input_text","text":"late"}]}],"stream":true}`
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
}

// The API refuses an empty list of parts. It accepts null only together with calls.
func TestEncodeChatOfNothing(t *testing.T) { // CTX-3
	body, err := Chat{}.Encode(&llm.Request{Model: "m", Messages: []llm.Message{
		{Role: llm.User}, {Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "not of this API"}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "{}"}}}}})
	want := `{"model":"m","messages":[{"role":"user","content":""},{"role":"assistant","content":""},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}}]}]}`
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
}

// With space before the object, a call is still the call of a function, not of a custom tool.
func TestEncodeResponsesArgumentsAfterSpace(t *testing.T) {
	body, err := Responses{}.Encode(&llm.Request{Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "\n {}"}}}}})
	want := `{"type":"function_call","call_id":"1","name":"a","arguments":"\n {}"}`
	if err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%v %s", err, body)
	}
}

func TestEncodeRefusalNamesTheMessage(t *testing.T) {
	_, err := Responses{}.Encode(&llm.Request{Messages: []llm.Message{
		{Role: llm.User, Local: true}, {Role: llm.System, Parts: []llm.Part{{Text: "s"}}}, {Role: "robot"}}})
	if want := `responses request: message 2: unknown role "robot"`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	misplaced := []llm.Part{{Kind: llm.ToolResult, CallID: "1"}}
	for _, c := range []llm.Codec{Chat{}, Responses{}} {
		for name, req := range map[string]*llm.Request{
			"misplaced": {Messages: []llm.Message{{Role: llm.Assistant, Parts: misplaced}}},
			"said":      {Messages: []llm.Message{{Role: llm.Tool, Parts: []llm.Part{{Text: "x"}}}}},
		} {
			if body, err := c.Encode(req); err == nil {
				t.Errorf("%T %s passed: %s", c, name, body)
			}
		}
	}
}

// Reasoning of another provider is left out when the conversation continues here.
func TestEncodeForeignReasoning(t *testing.T) { // CTX-3
	req := &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{
		{Kind: llm.Thinking, Raw: `{"type":"thinking","thinking":"t","signature":"s"}`}, {Text: "x"}}}}}
	for _, c := range []llm.Codec{Chat{}, Responses{}} {
		if body, err := c.Encode(req); err != nil || strings.Contains(string(body), "signature") || !strings.Contains(string(body), `"x"`) {
			t.Errorf("%T: %s, %v", c, body, err)
		}
	}
}

// Compatible endpoints use two names for reasoning. It is sent back under the name with which it came.
func TestReasoningNames(t *testing.T) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		body := `{"model":"m","messages":[{"role":"assistant","` + name + `":"a \"b\"","content":"x"}]}`
		req, err := Chat{}.Decode([]byte(body))
		if err != nil || req.Messages[0].Parts[0].Kind != llm.Thinking || req.Messages[0].Parts[0].Text != `a "b"` {
			t.Fatalf("%+v, %v", req, err)
		}
		if again, err := (Chat{}).Encode(req); err != nil || string(again) != body {
			t.Errorf("%s, %v", again, err)
		}
	}
}

// A reasoning item without content is only a reference. The provider would search it among stored items, but nothing is stored.
func TestEncodeReasoningWithoutContent(t *testing.T) { // CTX-3
	for raw, want := range map[string]bool{
		`{"type":"reasoning","id":"rs_1","summary":[]}`:                                       false,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null,"content":[]}`: false,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":""}`:                false,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VjcmV0"}`:        true,
		`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"x"}]}`:  true,
		`{"type":"reasoning","summary":[],"encrypted_content":"c2VjcmV0"`:                     false,
		`{"type":"web_search_call","encrypted_content":"c2VjcmV0"}`:                           false,
	} {
		body, err := Responses{}.Encode(&llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Raw: raw}, {Text: "x"}}}}})
		if err != nil || strings.Contains(string(body), `"summary"`) != want {
			t.Errorf("%s: %s, %v", raw, body, err)
		}
	}
}
