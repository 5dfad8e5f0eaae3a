package anthropic

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestCodec(t *testing.T) {
	codectest.Run(t, codectest.Format{
		Codec: Messages{}, Sample: sample,
		Thought:  `{"type":"thinking","thinking":%[1]s,"signature":%[1]s}`,
		Opaque:   `{"type":"image","source":{}}`,
		MinLimit: 1, Together: true, Flagged: true,
	})
}

func TestEncodeOnTheWire(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: "s1"}}},
		{Role: llm.System, Parts: []llm.Part{{Text: "s2"}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "u"}}},
		{Role: llm.User, Local: true, Parts: []llm.Part{{Text: "progress"}}}, // CTX-3
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "unsigned"},
			{Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "not json"}, {Kind: llm.ToolCall, CallID: "2", Name: "b"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "1", Text: "r1"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "2", Text: "r2", IsError: true}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "next"}}},
		{Role: llm.System, Parts: []llm.Part{{Text: "late"}}},
	}}
	body, err := Messages{}.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","max_tokens":4096,"system":[{"type":"text","text":"s1"},{"type":"text","text":"s2"}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"u"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"input":"not json"}},{"type":"tool_use","id":"2","name":"b","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r1"},{"type":"tool_result","tool_use_id":"2","content":"r2","is_error":true},{"type":"text","text":"next"}]},` +
		`{"role":"system","content":[{"type":"text","text":"late"}]}]}`
	if string(body) != want {
		t.Errorf("\n%s\nwant\n%s", body, want)
	}
}

// The API refuses a result that comes after another part of its message.
func TestEncodeResultsFirst(t *testing.T) { // CTX-3
	image := func(data string) llm.Part {
		return llm.Part{Kind: llm.Opaque, Raw: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`}
	}
	result := func(id string) llm.Part { return llm.Part{Kind: llm.ToolResult, CallID: id, Text: "r" + id} }
	body, err := Messages{}.Encode(&llm.Request{Model: "m", Cache: &llm.Cache{}, Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{image("A"), {Text: "u"}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "1", Name: "a"}, {Kind: llm.ToolCall, CallID: "2", Name: "a"}}},
		{Role: llm.Tool, Parts: []llm.Part{image("B"), result("1"), image("C"), result("2")}},
	}})
	want := `{"model":"m","max_tokens":4096,"messages":[` +
		`{"role":"user","content":[` + image("A").Raw + `,{"type":"text","text":"u","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}},{"type":"tool_use","id":"2","name":"a","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r1"},` +
		`{"type":"tool_result","tool_use_id":"2","content":"r2","cache_control":{"type":"ephemeral"}},` + image("B").Raw + `,` + image("C").Raw + `]}]}`
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
}

// The API refuses empty texts, and messages without content.
func TestEncodeLeavesOutWhatIsEmpty(t *testing.T) { // CTX-3
	body, err := Messages{}.Encode(&llm.Request{Model: "m", Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: ""}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "u"}, {Text: ""}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "unsigned"}}},
		{Role: llm.Assistant},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "1"}}},
	}})
	want := `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"u"}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":""}]}]}`
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
}

// The error names the index of the message in the request.
func TestEncodeRefusalNamesTheMessage(t *testing.T) {
	_, err := Messages{}.Encode(&llm.Request{Messages: []llm.Message{{Role: llm.User, Local: true}, {Role: "robot"}}})
	if want := `messages request: message 1: unknown role "robot"`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
