package anthropic

import (
	"fmt"
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var usageKeys = [10]string{
	"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "cache_creation",
	"server_tool_use", "output_tokens_details", "speed", "inference_geo", "service_tier",
}

// innerKeys are members of objects in usage.
var innerKeys = [4]string{"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "web_search_requests", "thinking_tokens"}

// known are the names of usage for llm.UnknownUsage. Fetching a page costs nothing but its tokens.
var known = []string{
	"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens",
	"cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens",
	"server_tool_use.web_search_requests", "server_tool_use.web_fetch_requests",
	"speed", "inference_geo", "service_tier", "iterations", "output_tokens_details.thinking_tokens",
}

// UnknownUsage returns what UsageOf does not know in a usage object: see llm.UnknownUsage.
func UnknownUsage(raw []byte) []string {
	out := llm.UnknownUsage(raw, known)
	_ = iterations(raw, func(kind string, _ []byte) error {
		if name := "iterations." + kind; kind != "message" && kind != "compaction" && !slices.Contains(out, name) {
			out = append(out, name)
		}
		return nil
	})
	return out
}

// iterations passes the kind and the usage of each request that one answer took. Those of kind "message" are in the usage
// around them; the others are not, but are charged.
func iterations(raw []byte, each func(kind string, usage []byte) error) error {
	for one := range rawjson.Elements(raw, rawjson.Member(raw, rawjson.Whole(raw), "iterations")) {
		if one.KindOf(raw) != '{' {
			continue
		}
		if err := each(string(rawjson.Word(raw, rawjson.Member(raw, one, "type"))), one.Of(raw)); err != nil {
			return err
		}
	}
	return nil
}

// UsageOf implements llm.Codec. input_tokens excludes tokens that were read from or written to the cache.
func (Messages) UsageOf(raw []byte) (llm.Usage, error) {
	var u llm.Usage
	var at [10]rawjson.Span
	s := rawjson.New(raw)
	s.Object(usageKeys[:], at[:])
	if err := s.End(); err != nil {
		return u, fmt.Errorf("usage: %w", err)
	}
	for i, to := range [4]*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output} {
		if err := rawjson.Most(raw, at[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", usageKeys[i], err)
		}
	}
	u.Speed, u.Region, u.Tier = llm.Unusual(rawjson.Word(raw, at[7])), llm.Unusual(rawjson.Word(raw, at[8])), llm.Unusual(rawjson.Word(raw, at[9]))
	if u.Tier == llm.TierPriority { // capacity that was bought before, and counts by the usual prices
		u.Tier = ""
	}
	var short int
	for _, object := range at[4:7] {
		var in [4]rawjson.Span
		rawjson.Members(raw, object, innerKeys[:], in[:])
		for i, to := range [4]*int{&short, &u.CacheWrite1h, &u.WebSearches, &u.Reasoning} {
			if err := rawjson.Most(raw, in[i], to); err != nil {
				return llm.Usage{}, fmt.Errorf("usage %s: %w", innerKeys[i], err)
			}
		}
	}
	u.CacheWrite = max(u.CacheWrite, short+u.CacheWrite1h)
	return u, iterations(raw, func(kind string, one []byte) error {
		if kind != "compaction" {
			return nil
		}
		more, err := Messages{}.UsageOf(one)
		more.Speed, more.Region, more.Tier = u.Speed, u.Region, u.Tier
		u = u.Add(more)
		return err
	})
}
