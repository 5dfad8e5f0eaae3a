package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

func TestThinkingBudget(t *testing.T) {
	for limit, want := range map[int]string{0: `"max_tokens":6096`, 2001: `"max_tokens":2001`} {
		body, err := Client{Thinking: 2000}.encode(&llm.Request{Model: "m", MaxTokens: limit})
		if err != nil || !strings.Contains(string(body), want) || !strings.Contains(string(body), `"thinking":{"type":"enabled","budget_tokens":2000}`) {
			t.Errorf("%d: %s, %v", limit, body, err)
		}
	}
	if _, err := (Client{Thinking: 2000}).encode(&llm.Request{Model: "m", MaxTokens: 2000}); !errors.Is(err, llm.ErrInvalid) {
		t.Error(err)
	}
	if body, _ := (Client{}).encode(&llm.Request{Model: "m"}); strings.Contains(string(body), "thinking") {
		t.Errorf("%s", body)
	}
}
