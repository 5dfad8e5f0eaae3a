package prices

import (
	"slices"
	"time"
)

// Model is what is known of one model. Zero fields are unknown.
type Model struct {
	ID         string  `json:"id"`
	Provider   string  `json:"provider,omitempty"`   // who makes it: "anthropic", "openai", "google", …
	Window     int     `json:"window,omitempty"`     // tokens of prompt and answer together
	Vocabulary string  `json:"vocabulary,omitempty"` // VocabularyO200k, VocabularyCL100k; "" where none is public
	Scale      float64 `json:"scale,omitempty"`      // tokens it takes for one of o200k_base, where no vocabulary is public; 0: unknown
	MinCache   int     `json:"min_cache,omitempty"`  // shortest prefix the provider caches; 0 is the rule's
	Thinking   string  `json:"thinking,omitempty"`   // ThinkingChecked, ThinkingUnchecked; "": not known
	USD        USD     `json:"usd"`
	Fast       float64 `json:"fast,omitempty"`     // how many times its price a request costs in the provider's fast mode; 0: unknown
	US         float64 `json:"us,omitempty"`       // the same, where it must be answered in the United States
	Priority   float64 `json:"priority,omitempty"` // the same, at the priority tier
	Long       Long    `json:"long,omitzero"`
	Match      Match   `json:"match,omitzero"`

	// Family is the ID of the model that these data are of, where Lookup did not find the model itself but one whose name
	// begins alike. Window, cache rule and counting of tokens are taken from it; no price is.
	Family string `json:"-"`
	Free   bool   `json:"-"` // the name is that of a router's variant that costs nothing
	// Regional means that the name is that of Amazon Bedrock for its regions, as "eu.anthropic.…", and not for all of them.
	Regional bool `json:"-"`
}

// Priced reports whether the price of the model itself is known.
func (m Model) Priced() bool { return m.Free || m.Family == "" && m.USD.Input > 0 }

// The vocabularies that are public.
const (
	VocabularyO200k  = "o200k_base"
	VocabularyCL100k = "cl100k_base"
)

// Whether a provider checks what comes before a block of thinking that comes back
// to it, and refuses the request where it is not what it was.
const (
	ThinkingChecked   = "checked"
	ThinkingUnchecked = "unchecked"
)

// USD holds prices in US dollars for a million tokens. 0 is unknown.
type USD struct {
	Input        float64 `json:"in"`
	Output       float64 `json:"out,omitempty"`
	CacheRead    float64 `json:"read,omitempty"`
	CacheWrite   float64 `json:"write,omitempty"`    // for the provider's usual lifetime
	CacheWrite1h float64 `json:"write_1h,omitempty"` // for an hour
	Search       float64 `json:"search,omitempty"`   // for a thousand web searches of the provider
}

// Long holds the prices of a request whose prompt is longer than Above tokens.
type Long struct {
	Above int `json:"above"`
	USD
}

// Match lists the other names a model is known by, in lower case.
type Match struct {
	Is     []string `json:"is,omitempty"`
	Starts []string `json:"starts,omitempty"`
	Has    []string `json:"has,omitempty"`
}

func (m Match) clone() Match {
	return Match{Is: slices.Clone(m.Is), Starts: slices.Clone(m.Starts), Has: slices.Clone(m.Has)}
}

// Rule returns the cache rule the model is billed by when its provider's
// default is used: the provider's rule, with the model's own prices and minimum
// where they are known. A provider whose cache we know nothing of but its
// price is taken to cache by itself for five minutes; one without a price for
// cached tokens is taken to have no cache.
func (m Model) Rule() Rule {
	var r Rule
	switch m.Provider {
	case "anthropic":
		r, _ = RuleNamed(Anthropic5m)
	case "openai":
		r, _ = RuleNamed(OpenAI)
	default:
		if m.USD.CacheRead == 0 || m.USD.Input == 0 {
			r, _ = RuleNamed(None)
			return r
		}
		if m.Provider == "google" {
			r = gemini
			break
		}
		r = Rule{Name: m.Provider, Write: 1, Lifetime: 5 * time.Minute, Step: 1, MinTokens: 1024}
	}
	if m.USD.Input > 0 {
		if m.USD.CacheRead > 0 {
			r.Read = m.USD.CacheRead / m.USD.Input
		}
		if m.USD.CacheWrite > 0 {
			r.Write = m.USD.CacheWrite / m.USD.Input
		}
	}
	if m.MinCache > 0 {
		r.MinTokens = m.MinCache
	}
	return r
}
