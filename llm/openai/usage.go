package openai

import (
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// counted are the members of a usage object. The two APIs use different names for the same numbers, and so do the servers that speak
// like them. Where several count the same, the largest is taken.
type counted struct {
	prompt, output, total            int
	read, write, reasoning, searches int
}

var usageKeys = [...]string{
	"input_tokens", "prompt_tokens", "output_tokens", "completion_tokens", "total_tokens",
	"cached_tokens",               // Kimi
	"prompt_cache_hit_tokens",     // DeepSeek
	"cached_input_tokens",         // Codex
	"num_cached_tokens",           // Mistral
	"cache_read_input_tokens",     // gateways in front of Claude
	"cache_creation_input_tokens", // the same
	"cache_write_input_tokens",    // Codex
	"reasoning_tokens", "reasoning_output_tokens",
	"input_tokens_details", "prompt_tokens_details", "output_tokens_details", "completion_tokens_details",
	"prompt_token_details", "server_tool_use",
}

// firstObject is the index of the first of usageKeys that is an object.
const firstObject = 14

func (c *counted) fields() [firstObject]*int {
	return [...]*int{
		&c.prompt, &c.prompt, &c.output, &c.output, &c.total, &c.read, &c.read, &c.read, &c.read, &c.read, &c.write, &c.write, &c.reasoning, &c.reasoning,
	}
}

// detailKeys are the members of the objects in it.
var detailsKeys = [...]string{
	"cached_tokens", "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens", "reasoning_tokens", "web_search_requests",
}

func (c *counted) details() [len(detailsKeys)]*int {
	return [...]*int{&c.read, &c.write, &c.write, &c.write, &c.reasoning, &c.searches}
}

// known are the names of usage for llm.UnknownUsage: what is read, sums and parts of that, times, and what a router says that it charges.
var known = append(knownDetails(),
	"prompt_cache_miss_tokens", "cost", "cost_details", "cost_in_usd_ticks", "is_byok", "queue_time", "prompt_time", "completion_time", "total_time", "prompt_audio_seconds",
)

func knownDetails() (names []string) {
	names = append(names, usageKeys[:firstObject]...)
	for _, object := range usageKeys[firstObject:] {
		for _, name := range append(detailsKeys[:], "text_tokens", "image_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens") {
			names = append(names, object+"."+name)
		}
	}
	return names
}

// UnknownUsage returns what UsageOf does not know in a usage object: see llm.UnknownUsage.
func UnknownUsage(raw []byte) []string { return llm.UnknownUsage(raw, known) }

func usageOf(raw []byte) (llm.Usage, error) {
	var at [len(usageKeys)]rawjson.Span
	s := rawjson.New(raw)
	s.Object(usageKeys[:], at[:])
	if err := s.End(); err != nil {
		return llm.Usage{}, fmt.Errorf("usage: %w", err)
	}
	var c counted
	for i, to := range c.fields() {
		if err := rawjson.Most(raw, at[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", usageKeys[i], err)
		}
	}
	for _, object := range at[firstObject:] {
		var in [len(detailsKeys)]rawjson.Span
		rawjson.Members(raw, object, detailsKeys[:], in[:])
		for i, to := range c.details() {
			if err := rawjson.Most(raw, in[i], to); err != nil {
				return llm.Usage{}, fmt.Errorf("usage %s: %w", detailsKeys[i], err)
			}
		}
	}
	return c.usage(), nil
}

// usage returns the numbers as llm.Usage has them. Some servers do not count the reasoning in the output: their sum shows it.
func (c *counted) usage() llm.Usage {
	if c.total > 0 && c.total == c.prompt+c.output+c.reasoning {
		c.output += c.reasoning
	}
	u := llm.Usage{CacheRead: min(c.read, c.prompt), Output: c.output, Reasoning: min(c.reasoning, c.output), WebSearches: c.searches}
	u.CacheWrite = min(c.write, c.prompt-u.CacheRead)
	u.Input = c.prompt - u.CacheRead - u.CacheWrite
	return u
}
