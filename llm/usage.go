package llm

import "strings"

// Usage is the token usage of one request. Every token counts once: Input excludes tokens read from or written to the cache.
// Providers differ: for some, input includes cached tokens. The codecs convert all usage to this form (CTX-1).
type Usage struct {
	Input        int // not cached
	CacheRead    int
	CacheWrite   int // all cache writes, of any lifetime
	CacheWrite1h int // the part of CacheWrite with a lifetime of an hour
	Output       int // including reasoning
	Reasoning    int // the part of Output that was reasoning
	Searches     int // web searches that the provider ran; they cost by number
	Terms        Terms
}

// Terms are what the price of a request depends on besides its tokens.
type Terms struct {
	Fast bool   `json:"fast,omitempty"` // the provider's fast mode
	US   bool   `json:"us,omitempty"`   // answered in the United States, because the request asked for that
	Tier string `json:"tier,omitempty"` // TierBatch, TierFlex, TierPriority; empty: the usual one
}

// The values of Terms.Tier that have prices of their own. A provider's other word is kept as it is.
const (
	TierBatch    = "batch"
	TierFlex     = "flex"
	TierPriority = "priority"
)

// TierOf returns Terms.Tier for a provider's word.
func TierOf(word string) string {
	switch word = strings.ToLower(word); word {
	case "standard", "default", "auto", "on_demand", "scale":
		return ""
	}
	return word
}

// Prompt returns the size of the request: all tokens that the model read.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of u and v. Terms are kept only where both have the same.
func (u Usage) Add(v Usage) Usage {
	terms := v.Terms
	if u.Terms != v.Terms && !u.IsZero() {
		terms = Terms{}
	}
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		Searches: u.Searches + v.Searches, Terms: terms,
	}
}

// Total returns the size of the conversation after the answer: prompt and output.
func (u Usage) Total() int { return u.Prompt() + u.Output }

// IsZero reports whether nothing is counted, also if the usage is unknown.
func (u Usage) IsZero() bool {
	u.Terms = Terms{}
	return u == Usage{}
}
