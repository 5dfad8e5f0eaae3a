package openai

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

const (
	anthropicImage = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`
	anthropicURL   = `{"type":"image","source":{"type":"url","url":"https://example.test/a.png"}}`
	chatImage      = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`
	chatURL        = `{"type":"image_url","image_url":{"url":"https://example.test/a.png"}}`
	inputImage     = `{"type":"input_image","image_url":"data:image/png;base64,AA=="}`
	inputURL       = `{"type":"input_image","image_url":"https://example.test/a.png"}`
	serverTool     = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	webSearch      = `{"type":"web_search_call", "id":"ws_1","status":"completed"}`
	refusal        = `{"type":"refusal", "refusal":"No."}`
)

func left(kind, typ string) string {
	return `{"type":"` + kind + `","text":"[left out: a part of type ` + typ + ` that this model's API has no word for]"}`
}

type foreignCase struct {
	role      llm.Role
	raw, want string // want "": unchanged
}

func encodeForeign(t *testing.T, codec llm.Codec, cases []foreignCase) {
	for _, c := range cases {
		if c.want == "" {
			c.want = c.raw
		}
		body, err := codec.Encode(&llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "u"}}},
			{Role: c.role, Parts: []llm.Part{{Text: "x"}, {Kind: llm.Opaque, Raw: c.raw}}}}})
		if err != nil || !strings.Contains(string(body), `"x"},`+c.want+`]`) && !strings.Contains(string(body), `"x"}]},`+c.want+`]`) {
			t.Errorf("%T: %s of %s: %s, %v", codec, c.raw, c.role, body, err)
		}
	}
}

// A part of another API is sent as an image or as text. A part of this API is sent unchanged, byte for byte.
func TestEncodeChatForeignParts(t *testing.T) { // CTX-3
	encodeForeign(t, Chat{}, []foreignCase{
		{llm.User, `{"type":"image_url", "image_url":{"url":"x","detail":"low"}}`, ""},
		{llm.User, `{"type":"input_audio","input_audio":{}}`, ""},
		{llm.User, `{"type":"file","file":{}}`, ""},
		{llm.Assistant, refusal, ""},

		{llm.User, anthropicImage, chatImage}, {llm.User, anthropicURL, chatURL}, {llm.User, inputImage, chatImage},
		{llm.User, `{"type":"image_url","image_url":"https://example.test/a.png"}`, chatURL},
		{llm.User, `{"type":"document"}`, left("text", "document")},
		{llm.Assistant, serverTool, left("text", "server_tool_use")}, {llm.Assistant, webSearch, left("text", "web_search_call")},
		{llm.Assistant, anthropicImage, left("text", "image")}, {llm.System, chatImage, left("text", "image_url")},
		{llm.User, refusal, `{"type":"text","text":"No."}`},
	})
}

func TestEncodeResponsesForeignParts(t *testing.T) { // CTX-3
	encodeForeign(t, Responses{}, []foreignCase{
		{llm.User, `{"type":"input_image", "file_id":"f"}`, ""},
		{llm.User, `{"type":"input_file","file_id":"f"}`, ""},
		{llm.Assistant, refusal, ""}, {llm.Assistant, webSearch, ""}, {llm.Assistant, `{"type":"compaction", "encrypted_content":"x"}`, ""},

		{llm.User, anthropicImage, inputImage}, {llm.User, anthropicURL, inputURL}, {llm.User, chatImage, inputImage},
		{llm.User, `{"type":"document"}`, left("input_text", "document")},
		{llm.Assistant, serverTool, left("output_text", "server_tool_use")}, {llm.Assistant, inputImage, left("output_text", "input_image")},
		{llm.System, inputImage, left("input_text", "input_image")},
	})
}

// Results cannot contain images in these APIs. The images come after the last result.
func TestEncodeWhatStandsAmongResults(t *testing.T) { // CTX-3
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "1", Name: "a", Args: "{}"}, {Kind: llm.ToolCall, CallID: "2", Name: "a", Args: "{}"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "1", Text: "r1"}, {Kind: llm.Opaque, Raw: anthropicImage}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "2", Text: "r2"}}},
	}}
	for codec, want := range map[llm.Codec]string{
		Chat{}: `{"role":"tool","tool_call_id":"1","content":"r1"},{"role":"tool","tool_call_id":"2","content":"r2"},` +
			`{"role":"user","content":[` + chatImage + `]}]`,
		Responses{}: `{"type":"function_call_output","call_id":"1","output":"r1"},{"type":"message","role":"user","content":[` + inputImage + `]},` +
			`{"type":"function_call_output","call_id":"2","output":"r2"}]`,
	} {
		for range 2 { // once at the end of the conversation, and once before another message
			body, err := codec.Encode(req)
			if err != nil || !strings.Contains(string(body), strings.TrimSuffix(want, "]")) {
				t.Errorf("%v\n%s\nwant\n%s", err, body, want)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "next"}}})
		}
	}
	own := `{"type":"tool_search_output", "call_id":"c5","tools":[]}`
	req.Messages[2].Parts = append(req.Messages[2].Parts, llm.Part{Kind: llm.Opaque, Raw: own})
	if body, err := (Responses{}).Encode(req); err != nil || !strings.Contains(string(body), own) {
		t.Errorf("%s, %v", body, err)
	}
}

// Ids that are too long, missing or duplicate are replaced, in calls and in results. Unusual but valid ids are not replaced.
func TestEncodeForeignNames(t *testing.T) { // CTX-3
	long := "x." + strings.Repeat("y", 70)
	call := func(id, name string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: "{}"}
	}
	result := func(id, text string) llm.Part { return llm.Part{Kind: llm.ToolResult, CallID: id, Text: text} }
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{call("f.a:0", "f.a"), call("same", "b"), call("same", "offered.one"), call(long, "b")}},
		{Role: llm.Tool, Parts: []llm.Part{result("f.a:0", "r1"), result("same", "r2"), result("same", "r3"), result(long, "r4")}},
	}}
	req.AddTool("offered.one", "", nil)
	for codec, short := range map[llm.Codec]string{Chat{}: "x_" + strings.Repeat("y", 30), Responses{}: "x_" + strings.Repeat("y", 54)} {
		body, err := codec.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, m := range got.Messages {
			for _, p := range m.Parts {
				told = append(told, p.CallID+" "+p.Name+p.Text)
			}
		}
		want := []string{"f.a:0 unknown__f_a", "same b", "same_2 offered.one", short + " b", "f.a:0 r1", "same r2", "same_2 r3", short + " r4"}
		if strings.Join(told, "\n") != strings.Join(want, "\n") {
			t.Errorf("%T: %q\nwant %q", codec, told, want)
		}
	}
}
