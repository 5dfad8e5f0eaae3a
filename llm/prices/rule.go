package prices

import (
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Rule says how a provider's prompt cache bills, relative to one plain input
// token, and what it caches. The zero Rule has no meaning; take one of [Rules]
// or a model's own ([Model.Rule]).
type Rule struct {
	Name  string
	Read  float64 // price of a token read from the cache
	Write float64 // price of a token written to the cache

	// Lifetime is how long a prefix stays cached after it was last written
	// or read. 0: nothing is cached, every token costs 1.
	Lifetime time.Duration

	// What follows is what the bench's simulator needs too: the shortest
	// prefix that is cached, the step in which the length of a hit grows,
	// how many breakpoints a request may mark (0: the provider caches
	// prefixes by itself), and how many content blocks before a breakpoint
	// the provider looks back for an earlier entry (0: no limit).
	MinTokens   int
	Step        int
	Breakpoints int
	Lookback    int
}

// Cached reports whether the rule knows a cache at all.
func (r Rule) Cached() bool { return r.Lifetime > 0 }

// Cost returns the price of a request in plain input tokens: read of them from
// the cache, written to it, and plain ones.
func (r Rule) Cost(read, written, plain int) float64 {
	return r.Read*float64(read) + r.Write*float64(written) + float64(plain)
}

// Names of the rules, as reports show them.
const (
	Anthropic5m = "anthropic-5m"
	Anthropic1h = "anthropic-1h"
	OpenAI      = "openai"
	None        = "none"
	Gemini      = "gemini"
)

// rules is the table of cache rules.
//
// Anthropic: platform documentation, "Prompt caching": reads 0.1, writes 1.25
// for five minutes and 2 for an hour, the lifetime renewed by every read; four
// breakpoints, each looked back from over 20 blocks; 1,024 tokens at least for
// most models (others: Model.MinCache).
//
// OpenAI: platform documentation, "Prompt caching": prefixes of 1,024 tokens
// and more in steps of 128, no price for the write, dropped after "5 to 10
// minutes" without use and always after an hour; from gpt-5 on there is a longer
// retention, which an agent must ask for. Ten minutes is taken: in recorded
// sessions 10 of 12 requests that came 5 to 10 minutes after the last answer
// still found the cache, 3 of 6 within the hour. From gpt-5.6 on, writes cost
// 1.25: that is in the model's prices, and so in Model.Rule.
var rules = []Rule{
	{Name: Anthropic5m, Read: 0.1, Write: 1.25, Lifetime: 5 * time.Minute, MinTokens: 1024, Step: 1, Breakpoints: 4, Lookback: 20},
	{Name: Anthropic1h, Read: 0.1, Write: 2, Lifetime: time.Hour, MinTokens: 1024, Step: 1, Breakpoints: 4, Lookback: 20},
	{Name: OpenAI, Read: 0.1, Write: 1, Lifetime: 10 * time.Minute, MinTokens: 1024, Step: 128},
	{Name: None, Read: 1, Write: 1},
}

// gemini is the rule of the Gemini models, which no report prices other models by. Gemini API, "Context
// caching", and the cloud's "Context cache overview": prefixes of 4,096 tokens and more from the models
// of generation 3 on (others: Model.MinCache) are cached by themselves, no price for the write, a tenth for
// a read; what is dropped from memory is kept on slower storage, and is gone within 24 hours, mostly sooner. No
// earlier end is promised.
var gemini = Rule{Name: Gemini, Read: 0.1, Write: 1, Lifetime: 24 * time.Hour, MinTokens: 4096, Step: 1}

// Rules returns the cache rules that reports price by, in a fixed order.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// RuleNamed returns the rule of that name.
func RuleNamed(name string) (Rule, bool) {
	for _, r := range append(Rules(), gemini) {
		if r.Name == name {
			return r, true
		}
	}
	return Rule{}, false
}

// Cost returns what one request cost in USD at the model's prices. Where
// the prompt is longer than the model's limit for them, the higher prices
// hold for all of it. A cached token whose price is unknown costs what a plain
// one does. It is false, and 0, where the price is not known: of the model, of its web searches, or
// of the terms on which it answered.
func (m Model) Cost(u llm.Usage) (usd float64, known bool) {
	p, known := m.At(u, u.Prompt())
	if !known || u.WebSearches > 0 && m.USD.Search == 0 && !m.Free {
		return 0, false
	}
	return p.tokens(u)/1e6 + float64(u.WebSearches)*p.Search/1000, true
}

// Bill returns what one request cost, and what it would have cost more with the usage whole, which it would have had if nothing had been
// left out. It is false where Cost is.
func (m Model) Bill(u, whole llm.Usage) (usd, saved float64, known bool) {
	usd, known = m.Cost(u)
	more, _ := m.Cost(whole)
	return usd, more - usd, known
}

// At returns the prices of a request that was answered at the speed, region and tier of u, with a prompt of so many tokens. It is false
// where Cost is.
func (m Model) At(u llm.Usage, prompt int) (p USD, known bool) {
	times, known := m.times(u)
	if m.Free {
		return USD{}, true
	}
	if !known || !m.Priced() {
		return USD{}, false
	}
	if p = m.USD; m.Long.Above > 0 && prompt > m.Long.Above {
		p = m.Long.USD
	}
	for _, price := range []*float64{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite, &p.CacheWrite1h} {
		*price *= times
	}
	p.Search = m.USD.Search
	return p, true
}

func (p USD) tokens(u llm.Usage) float64 {
	write1h := min(u.CacheWrite1h, u.CacheWrite)
	return float64(u.Input)*p.Input +
		float64(u.CacheRead)*or(p.CacheRead, p.Input) +
		float64(u.CacheWrite-write1h)*or(p.CacheWrite, p.Input) +
		float64(write1h)*or(p.CacheWrite1h, or(p.CacheWrite, p.Input)) +
		float64(u.Output)*p.Output
}

// oneInRegions are the beginnings of the names of Claude models that cost the same at all endpoints of the clouds. From Claude 4.5 on the
// endpoints for one region cost a tenth more than the global ones, at Amazon and Google.
var oneInRegions = []string{"claude-2", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-sonnet-4-0"}

// times returns how many times its usual price a request costs for its speed, region and tier. Batches and the flexible tier
// are half price at the providers that have them.
func (m Model) times(u llm.Usage) (times float64, known bool) {
	times = 1
	switch u.Speed {
	case "":
	case llm.SpeedFast:
		times *= m.Fast
	default:
		return 0, false
	}
	switch {
	case u.Region == "us":
		times *= m.US
	case u.Region == llm.RegionCloud || u.Region == "" && m.Regional:
		if m.Provider == "anthropic" && !slices.ContainsFunc(oneInRegions, func(name string) bool { return strings.HasPrefix(m.ID, name) }) {
			times *= 1.1
		}
	case u.Region != "":
		return 0, false
	}
	switch u.Tier {
	case "":
	case llm.TierPriority:
		times *= m.Priority
	case llm.TierBatch, llm.TierFlex:
		if !slices.Contains([]string{"anthropic", "openai", "google"}, m.Provider) {
			return 0, false
		}
		times /= 2
	default:
		return 0, false
	}
	return times, times > 0
}

func or(v, fallback float64) float64 {
	if v == 0 {
		return fallback
	}
	return v
}
