package openai

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
)

func TestClientMembers(t *testing.T) {
	req := &llm.Request{Model: "m", MaxTokens: 5}
	chat := func(c ChatClient, base string) string {
		c.Endpoint = endpoint.Config{BaseURL: base}
		body, err := c.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	responses, err := ResponsesClient{Effort: "low"}.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{chat(ChatClient{}, "http://localhost:11434"), `{"model":"m","messages":[],"max_tokens":5}`},
		{chat(ChatClient{}, "https://api.openai.com/v1"), `{"model":"m","messages":[],"max_completion_tokens":5}`},
		{chat(ChatClient{}, "https://a.openai.azure.com/openai/v1"), `{"model":"m","messages":[],"max_completion_tokens":5}`},
		{chat(ChatClient{Limit: "max_completion_tokens", Effort: "low"}, "http://h"), `{"model":"m","messages":[],"max_completion_tokens":5,"reasoning_effort":"low"}`},
		{string(responses), `{"model":"m","max_output_tokens":5,"store":false,"input":[],"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"]}`},
	} {
		if c[0] != c[1] {
			t.Errorf("%s\nwant %s", c[0], c[1])
		}
	}
}
