package llm

import "strings"

// Usage is the token usage of one request. Every token counts once: Input excludes tokens read from or written to the cache.
// Providers differ: for some, input includes cached tokens. The codecs convert all usage to this form.
type Usage struct {
	Input        int // not cached
	CacheRead    int
	CacheWrite   int // all cache writes, of any lifetime
	CacheWrite1h int // the part of CacheWrite with a lifetime of an hour
	Output       int // including reasoning
	Reasoning    int // the part of Output that was reasoning

	// What the price depends on besides the tokens, in the provider's words; empty: the usual.
	WebSearches int    // searches that the provider ran; they cost by number
	Speed       string // SpeedFast
	Region      string // "us": it had to be answered in the United States; RegionCloud
	Tier        string // TierBatch, TierFlex, TierPriority
}

// SpeedFast is the fast mode of Anthropic.
const SpeedFast = "fast"

// RegionCloud is an endpoint of a cloud for one of its regions, as opposed to its global one.
const RegionCloud = "cloud region"

// The values of Usage.Tier that have prices of their own. A provider's other word is kept as it is.
const (
	TierBatch    = "batch"
	TierFlex     = "flex"
	TierPriority = "priority"
)

// Unusual returns a provider's word for speed, region or tier as Usage has it: the words for the usual are empty.
func Unusual[S string | []byte](word S) string {
	switch w := strings.ToLower(string(word)); w {
	case "standard", "default", "auto", "on_demand", "scale", "global", "not_available", "none":
		return ""
	default:
		return w
	}
}

// Prompt returns the size of the request: all tokens that the model read.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of u and v. Speed, region and tier are kept only where both have the same.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		WebSearches: u.WebSearches + v.WebSearches,
	}
	if u.Speed == v.Speed && u.Region == v.Region && u.Tier == v.Tier {
		sum.Speed, sum.Region, sum.Tier = u.Speed, u.Region, u.Tier
	}
	return sum
}

// Total returns the size of the conversation after the answer: prompt and output.
func (u Usage) Total() int { return u.Prompt() + u.Output }

// IsZero reports whether nothing is counted, also if the usage is unknown.
func (u Usage) IsZero() bool {
	u.Speed, u.Region, u.Tier = "", "", ""
	return u == Usage{}
}
