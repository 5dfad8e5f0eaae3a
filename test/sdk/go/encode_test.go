package sdks

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/stet-dev/stet/llm"
	stetanthropic "github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	stetopenai "github.com/stet-dev/stet/llm/openai"
)

// everything returns a conversation with everything that a request can have. thought and image are in the form of the wire
// format.
func everything(thought, image string) *llm.Request {
	req := &llm.Request{Model: "scripted", MaxTokens: 5000, SessionKey: "0b1c", Cache: &llm.Cache{Frontier: 2}, Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: "You tend a garden."}}},
		{Role: llm.User, Parts: []llm.Part{{Text: question}, {Kind: llm.Opaque, Raw: image}}},
		{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "Rows first.", Raw: thought}, {Text: "I look it up."},
			{Kind: llm.ToolCall, CallID: "call_1", Name: "lookup", Args: `{"row":"row 41"}`}, {Kind: llm.ToolCall, CallID: "call_2", Name: "lookup", Args: `{"row":"row 42"}`},
		}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "call_1", Text: found}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "call_2", Text: "no such row", IsError: true}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "And now?"}}},
	}}
	req.AddTool("lookup", "look a row up", []byte(`{"type":"object","properties":{"row":{"type":"string"}},"required":["row"]}`))
	return req
}

// TestEncodedForSDKs sends everything with stet's clients, and decodes the received request with the types of the providers'
// SDKs. These types know every member, and encode it again to the same value.
func TestEncodedForSDKs(t *testing.T) { // CTX-11
	const png = "iVBORw0KGgo="
	for _, c := range []struct {
		name           string
		api            llm.API
		extra          string
		thought, image string
		params         any // a pointer
	}{
		{
			"messages", stetanthropic.API, `{"thinking":{"type":"enabled","budget_tokens":1024}}`,
			`{"type":"thinking","thinking":"Rows first.","signature":"c2ln"}`,
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`, &anthropic.MessageNewParams{},
		},
		{
			"chat", stetopenai.ChatAPI, `{"reasoning_effort":"low"}`,
			"", `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}`, &openai.ChatCompletionNewParams{},
		},
		{
			"responses", stetopenai.ResponsesAPI, `{"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"]}`,
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Rows first."}],"encrypted_content":"c2VjcmV0"}`,
			`{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,` + png + `"}`, &responses.ResponseNewParams{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The server has no rules, because the thinking is invented: no model has made its signature.
			server, err := llmtest.Start(llmtest.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			model := endpoint.Client{API: c.api, Config: endpoint.Config{BaseURL: server.URL, Key: key, Extra: json.RawMessage(c.extra)}}
			if _, err := model.Stream(t.Context(), everything(c.thought, c.image), nil); err != nil {
				t.Fatal(err)
			}
			body := server.Requests()[0].Body
			if err := json.Unmarshal(body, c.params); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			again, err := json.Marshal(c.params)
			if err != nil {
				t.Fatal(err)
			}
			got, want := object(t, again), object(t, body)
			delete(want, "stream") // the SDKs add it when they send
			asBlocks(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the SDK writes\n%s\nof\n%s", again, body)
			}
		})
	}
}

// asBlocks turns a result that is plain text into a list of blocks, as one of the SDKs does.
func asBlocks(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			asBlocks(e)
		}
	case map[string]any:
		if text, ok := v["content"].(string); ok && v["type"] == "tool_result" {
			v["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		for _, e := range v {
			asBlocks(e)
		}
	}
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
