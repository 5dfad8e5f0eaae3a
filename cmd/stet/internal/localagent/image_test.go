package localagent

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/openai"
)

// An image is written into the request of each wire format, and decoded as a part that is never edited.
func TestImagePart(t *testing.T) {
	for api, codec := range map[string]llm.Codec{llm.Messages: anthropic.Messages{}, llm.Chat: openai.Chat{}, llm.Responses: openai.Responses{}} {
		image := Model{Name: "m", Base: "http://127.0.0.1:1", API: api}.Image
		for _, bad := range [][2]string{{"image/png", "!"}, {"image/svg+xml", "AAAA"}, {"", ""}} {
			if _, ok := image(bad[0], bad[1]); ok {
				t.Errorf("%v was taken", bad)
			}
		}
		part, ok := image("image/png", "AAAA")
		if !ok {
			t.Fatal(api)
		}
		body, err := codec.Encode(&llm.Request{Model: "m", MaxTokens: 1, Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: "look"}, part}},
		}})
		if err != nil || !strings.Contains(string(body), "AAAA") {
			t.Fatalf("%s: %s, %v", api, body, err)
		}
		if own := map[string]string{llm.Messages: `"source":{`, llm.Chat: `"image_url":{"url":"data:`, llm.Responses: `"input_image","image_url":"data:`}; !strings.Contains(string(body), own[api]) {
			t.Errorf("%s: %s", api, body)
		}
		req, err := codec.Decode(body)
		if err != nil || len(req.Messages) != 1 || len(req.Messages[0].Parts) != 2 || req.Messages[0].Parts[1].Kind != llm.Opaque {
			t.Errorf("%s: %+v, %v", api, req, err)
		}
	}
}
