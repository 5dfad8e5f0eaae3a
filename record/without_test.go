package record_test

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// LIVE-1. What was left out is priced where it would have stood: in the cache that was read, in what was written, or in what was sent plain.
func TestWithout(t *testing.T) {
	row := func(off, tokens int, u record.Usage) *record.Request {
		return &record.Request{API: llm.Messages, TokensOff: off, Tokens: tokens, Usage: u}
	}
	first := row(1500, 1000, record.Usage{Input: 100, CacheWrite: 900, Output: 10})
	for _, c := range []struct {
		name      string
		now, last *record.Request
		set       func(*record.Request)
		want      record.Usage
	}{
		{"nothing left out", row(1000, 1000, record.Usage{CacheWrite: 1000}), nil, nil, record.Usage{CacheWrite: 1000}},
		{"the first request writes", first, nil, nil, record.Usage{Input: 100, CacheWrite: 1400, Output: 10}},
		{"without a cache", row(1500, 1000, record.Usage{Input: 1000}), nil, nil, record.Usage{Input: 1500}},
		{"scaled by what the provider counted", row(1500, 1000, record.Usage{Input: 1200}), nil, nil, record.Usage{Input: 1800}},
		{"not by what images add", row(1500, 1000, record.Usage{Input: 9000}), nil, nil, record.Usage{Input: 10000}},
		{"warm: what was out before is read, the rest written", row(2700, 2000, record.Usage{CacheRead: 900, Input: 100, CacheWrite: 1000}), first, nil,
			record.Usage{CacheRead: 1400, Input: 100, CacheWrite: 1200}},
		{"warm, but the earlier request is not known", row(1500, 1000, record.Usage{CacheRead: 900, CacheWrite: 100}), nil, nil, record.Usage{CacheRead: 1400, CacheWrite: 100}},
		{"cold: all of it is written", row(2700, 2000, record.Usage{CacheRead: 100, CacheWrite: 1900}), first, nil, record.Usage{CacheRead: 100, CacheWrite: 2600}},
		{"stet broke a warm cache", row(2500, 1000, record.Usage{CacheRead: 50, CacheWrite: 950}), first,
			func(r *record.Request) { r.Cache.Broke = record.BrokeStet }, record.Usage{CacheRead: 1400, CacheWrite: 1100}},
		{"only observed", row(1500, 1000, record.Usage{Input: 1000}), nil, func(r *record.Request) { r.Observe = true }, record.Usage{Input: 1000}},
		{"for an hour", row(1500, 1000, record.Usage{CacheWrite: 1000, CacheWrite1h: 1000}), nil, nil, record.Usage{CacheWrite: 1500, CacheWrite1h: 1500}},
	} {
		if c.set != nil {
			c.set(c.now)
		}
		var last *record.Left
		if c.last != nil {
			last = c.last.Leaves()
		}
		if got := c.now.Without(last); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestChains(t *testing.T) {
	row := func(conversation, agent, api string, prompt int) *record.Request {
		return &record.Request{Conversation: conversation, Agent: agent, API: api, Usage: record.Usage{Input: prompt, CacheRead: prompt}}
	}
	var c record.Chains
	a := row("a", "", llm.Messages, 1)
	for _, step := range []struct{ now, want *record.Request }{
		{a, nil}, {row("a", "sub", llm.Messages, 2), nil}, {row("a", "", record.CountTokens, 3), a}, {row("a", "", llm.Messages, 0), a},
		{row("a", "", llm.Messages, 4), a},
	} {
		if got := c.Next(step.now); (got == nil) != (step.want == nil) || got != nil && *got != *step.want.Leaves() {
			t.Errorf("before %+v: %+v", step.now, got)
		}
	}
}
