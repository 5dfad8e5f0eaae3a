package tokens_test

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/llm/tokens"
)

// CTX-1, count_tokens_from_usage: each provider's usage object, by its own inclusion rules, gives the number of tokens of the
// conversation.
func TestFromUsagePerProvider(t *testing.T) {
	for _, test := range []struct {
		name         string
		codec        llm.Codec
		usage        string
		prompt, want int
	}{
		{"messages: input_tokens excludes the cache", anthropic.Messages{},
			`{"input_tokens":7,"cache_creation_input_tokens":500,"cache_read_input_tokens":12000,"output_tokens":93,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":200}}`, 12507, 12600},
		{"messages: without a cache", anthropic.Messages{}, `{"input_tokens":100,"output_tokens":20}`, 100, 120},
		{"chat: prompt_tokens includes cached ones", openai.Chat{},
			`{"prompt_tokens":12507,"completion_tokens":93,"total_tokens":12600,"prompt_tokens_details":{"cached_tokens":12000},"completion_tokens_details":{"reasoning_tokens":64}}`, 12507, 12600},
		{"responses: input_tokens includes cached ones", openai.Responses{},
			`{"input_tokens":12507,"input_tokens_details":{"cached_tokens":12000},"output_tokens":93,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":12600}`, 12507, 12600},
	} {
		u, err := test.codec.UsageOf([]byte(test.usage))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := tokens.FromUsage(u); got != test.want || u.Prompt() != test.prompt {
			t.Errorf("%s: %d tokens, %d of them prompt, want %d and %d", test.name, got, u.Prompt(), test.want, test.prompt)
		}
	}
}
