package anthropic

import (
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var usageKeys = [5]string{
	"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "cache_creation",
}

var lifetimeKeys = [2]string{"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}

// UsageOf implements llm.Codec. input_tokens excludes tokens that were read from or written to the cache.
func (Messages) UsageOf(raw []byte) (llm.Usage, error) {
	var u llm.Usage
	var at [5]rawjson.Span
	s := rawjson.New(raw)
	s.Object(usageKeys[:], at[:])
	if err := s.End(); err != nil {
		return u, fmt.Errorf("usage: %w", err)
	}
	for i, to := range [4]*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output} {
		if err := rawjson.Count(raw, at[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", usageKeys[i], err)
		}
	}
	if at[4].KindOf(raw) != '{' {
		return u, nil
	}
	var life [2]rawjson.Span
	s = rawjson.At(raw, at[4])
	s.Object(lifetimeKeys[:], life[:])
	var short int
	for i, to := range [2]*int{&short, &u.CacheWrite1h} {
		if err := rawjson.Count(raw, life[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", lifetimeKeys[i], err)
		}
	}
	u.CacheWrite = max(u.CacheWrite, short+u.CacheWrite1h)
	return u, s.Err()
}
