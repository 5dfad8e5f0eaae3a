package anthropic

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// A part of another API is sent as an image or as text. A part of this API is sent unchanged, byte for byte.
func TestEncodeForeignParts(t *testing.T) { // CTX-3
	const url = `{"type":"image","source":{"type":"url","url":"https://example.test/a.png"}}`
	const png = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`
	left := func(typ string) string {
		return `{"type":"text","text":"[left out: a part of type ` + typ + ` that this model's API has no word for]"}`
	}
	for _, c := range []struct {
		role      llm.Role
		raw, want string // want "": unchanged
	}{
		{llm.User, `{"type":"image", "source":{"type":"file","file_id":"f"}}`, ""},
		{llm.User, `{"source":{"type":"text"},  "type":"document"}`, ""},
		{llm.Tool, png, ""},
		{llm.Assistant, `{"type":"server_tool_use","id":"s", "name":"web_search","input":{}}`, ""},
		{llm.Assistant, `{"type":"web_search_tool_result","tool_use_id":"s" ,"content":[]}`, ""},

		{llm.User, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`, png},
		{llm.Tool, `{"type":"image_url","image_url":{"url":"https://example.test/a.png"}}`, url},
		{llm.User, `{"type":"input_image","image_url":"data:image/png;base64,AA=="}`, png},
		{llm.User, `{"type":"image","data":"AA==","mimeType":"image/png"}`, png},
		{llm.User, `{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AA=="}}`, left("image_url")},
		{llm.User, `{"type":"image"}`, left("image")},
		{llm.User, `{"type":"input_file","file_id":"f"}`, left("input_file")},
		{llm.Assistant, png, left("image")},
		{llm.Assistant, `{"type":"web_search_call","id":"ws_1","status":"completed"}`, left("web_search_call")},
		{llm.Assistant, `{"type":"refusal","refusal":"No."}`, `{"type":"text","text":"No."}`},
		{llm.System, png, left("image")},
		{llm.User, `[]`, `{"type":"text","text":"[left out: a part that this model's API has no word for]"}`},
	} {
		if c.want == "" {
			c.want = c.raw
		}
		body, err := Messages{}.Encode(&llm.Request{Messages: []llm.Message{
			{Role: c.role, Parts: []llm.Part{{Text: "x"}, {Kind: llm.Opaque, Raw: c.raw}}}}})
		if err != nil || !strings.Contains(string(body), `"x"},`+c.want+`]`) {
			t.Errorf("%s of %s: %s, %v", c.raw, c.role, body, err)
		}
	}
}

// The API accepts only simple ids and names. Each id must be unique.
func TestEncodeForeignNames(t *testing.T) { // CTX-3
	call := func(id, name string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: "{}"}
	}
	result := func(id, text string) llm.Part { return llm.Part{Kind: llm.ToolResult, CallID: id, Text: text} }
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{call("f.a:0", "f.a"), call("same", "b"), call("same", "offered.one")}},
		{Role: llm.Tool, Parts: []llm.Part{result("f.a:0", "r1"), result("same", "r2"), result("same", "r3")}},
	}}
	req.AddTool("offered.one", "", nil)
	body, err := Messages{}.Encode(req)
	want := `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"f_a_0","name":"unknown__f_a","input":{}},` +
		`{"type":"tool_use","id":"same","name":"b","input":{}},{"type":"tool_use","id":"same_2","name":"offered.one","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"f_a_0","content":"r1"},` +
		`{"type":"tool_result","tool_use_id":"same","content":"r2"},{"type":"tool_result","tool_use_id":"same_2","content":"r3"}]}]`
	if err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
}
