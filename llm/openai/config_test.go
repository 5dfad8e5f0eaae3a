package openai

import (
	"testing"

	"github.com/stet-dev/stet/llm"
)

func TestTokenLimit(t *testing.T) { // CTX-11
	for host, want := range map[string]string{
		"localhost:11434": "max_tokens", "api.openai.com": "max_completion_tokens", "a.openai.azure.com:443": "max_completion_tokens",
	} {
		body, err := ChatAPI.EncodeAt(host, &llm.Request{Model: "m", MaxTokens: 5})
		if want = `{"model":"m","` + want + `":5,"messages":[]}`; err != nil || string(body) != want {
			t.Errorf("%s: %s, %v, want %s", host, body, err, want)
		}
	}
}
