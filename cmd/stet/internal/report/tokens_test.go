package report

import (
	"fmt"
	"strings"
	"testing"
)

// BILL-2: a block that is not text counts wherever a request may hold it, and no guess is called exact.
func TestCountBlocks(t *testing.T) {
	image := strings.Repeat("QUJD", 3000)
	anthropic := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + image + `"}}`
	for name, body := range map[string]string{
		"messages, beside text":  `{"model":"claude-opus-5","system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a"},` + anthropic + `]}]}`,
		"messages, in a result":  `{"model":"claude-opus-5","system":"s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"a"},` + anthropic + `]}]}]}`,
		"messages, small":        `{"model":"claude-opus-5","system":"s","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.test/a.png"}}]}]}`,
		"messages, a document":   `{"model":"claude-opus-5","system":"s","messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + image + `"}}]}]}`,
		"chat":                   `{"model":"gpt-5","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}}]}]}`,
		"chat, in a result":      `{"model":"gpt-5","messages":[{"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}}]}]}`,
		"responses":              `{"model":"gpt-5","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + image + `"}]}]}`,
		"responses, in a result": `{"model":"gpt-5","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://example.test/a.png"}]}]}`,
		"gemini":                 `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + image + `"}}]}]}`,
		"gemini, in a result":    `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"n","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + image + `"}}]}}]}]}`,
	} {
		got, ok, err := CountBody("f", []byte(body), "")
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		if b := got.Blocks; b == nil || b.Number != 1 || b.Tokens != mediaTokens || got.Tokens < mediaTokens || got.Tokens > mediaTokens+60 || !got.Estimated {
			t.Errorf("%s: %d tokens, blocks %+v, estimated %v", name, got.Tokens, b, got.Estimated)
		}
	}
	hidden := fmt.Sprintf(`{"model":"gpt-5","input":[{"type":"reasoning","summary":[],"encrypted_content":%q},{"type":"web_search_call","action":{"query":"rows and plants"}}]}`, image)
	if got, _, err := CountBody("f", []byte(hidden), ""); err != nil || got.Blocks == nil || got.Blocks.Number != 2 || got.Blocks.Tokens < 2250 || got.Blocks.Tokens > 2260 {
		t.Errorf("hidden thinking: %+v, %v", got.Blocks, err)
	}
	for model, exact := range map[string]bool{"gpt-5": true, "gpt-5-codex-mini": false, "claude-opus-5": false, "": true} {
		if got, err := CountText("f", []byte("hello"), model); err != nil || got.Estimated == exact {
			t.Errorf("%q: estimated %v, %s", model, got.Estimated, got.Method)
		}
	}
}
