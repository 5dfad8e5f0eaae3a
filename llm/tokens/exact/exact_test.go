package exact_test

import (
	"testing"

	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/llm/tokens/bpe"
	"github.com/stet-dev/stet/llm/tokens/exact"
)

// CTX-1: the exact counters agree with the published vocabularies on texts whose tokens can be found by hand.
func TestExact(t *testing.T) {
	for _, v := range []string{"o200k_base", "cl100k_base"} {
		c, err := exact.Counter(v)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]int{
			"": 0, "hello": 1, "hello world": 2, "hello hello hello": 3, "12345": 2, "\n": 1, "a\n\nb": 3, "foo();": 2, "<|endoftext|>": 7,
		} {
			if got := c.Count(text); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", v, text, got, want)
			}
		}
	}
	if _, err := exact.Counter("none"); err == nil {
		t.Error("a vocabulary that does not exist was found")
	}
}

func TestForModel(t *testing.T) {
	for model, want := range map[string]tokens.Counter{
		"gpt-5-codex": bpe.O200k(), "gpt-4-turbo": bpe.CL100k(), "claude-sonnet-4-5": tokens.Estimate{Scale: 1.1}, "my-model": tokens.Estimate{},
	} {
		if c := exact.ForModel(model); c != want {
			t.Errorf("%s is counted by %#v", model, c)
		}
	}
}
