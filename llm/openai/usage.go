package openai

import (
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// The two APIs use different names for the same numbers.
var usageKeys = [8]string{
	"input_tokens", "prompt_tokens", "output_tokens", "completion_tokens",
	"input_tokens_details", "prompt_tokens_details", "output_tokens_details", "completion_tokens_details",
}

var inputKeys = [3]string{"cached_tokens", "cache_write_tokens", "cache_creation_tokens"}
var outputKeys = [1]string{"reasoning_tokens"}

func usageOf(raw []byte) (llm.Usage, error) {
	var at [8]rawjson.Span
	s := rawjson.New(raw)
	s.Object(usageKeys[:], at[:])
	if err := s.End(); err != nil {
		return llm.Usage{}, fmt.Errorf("usage: %w", err)
	}
	var u llm.Usage
	var prompt int
	for i, to := range [4]*int{&prompt, &prompt, &u.Output, &u.Output} {
		if err := rawjson.Count(raw, at[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", usageKeys[i], err)
		}
	}
	for _, details := range at[4:6] {
		if err := counts(raw, details, inputKeys[:], &u.CacheRead, &u.CacheWrite, &u.CacheWrite); err != nil {
			return llm.Usage{}, err
		}
	}
	for _, details := range at[6:8] {
		if err := counts(raw, details, outputKeys[:], &u.Reasoning); err != nil {
			return llm.Usage{}, err
		}
	}
	u.CacheRead = min(u.CacheRead, prompt)
	u.CacheWrite = min(u.CacheWrite, prompt-u.CacheRead)
	u.Input = prompt - u.CacheRead - u.CacheWrite
	u.Reasoning = min(u.Reasoning, u.Output)
	return u, nil
}

// counts reads numbers from the object at the span, if there is one.
func counts(raw []byte, at rawjson.Span, keys []string, to ...*int) error {
	if at.KindOf(raw) != '{' {
		return nil
	}
	places := make([]rawjson.Span, len(keys))
	s := rawjson.At(raw, at)
	s.Object(keys, places)
	for i, place := range places {
		if err := rawjson.Count(raw, place, to[i]); err != nil {
			return fmt.Errorf("usage %s: %w", keys[i], err)
		}
	}
	return s.Err()
}
