package llm

// Usage is the token usage of one request. Every token counts once: Input excludes tokens read from or written to the cache.
// Providers differ: for some, input includes cached tokens. The codecs convert all usage to this form (CTX-1).
type Usage struct {
	Input        int // not cached
	CacheRead    int
	CacheWrite   int // all cache writes, of any lifetime
	CacheWrite1h int // the part of CacheWrite with a lifetime of an hour
	Output       int // including reasoning
	Reasoning    int // the part of Output that was reasoning

	// The fields below change the price. Sums of usage are without Speed and Region.
	WebSearches int    // searches that the provider ran and charges for one by one
	Speed       string // for example "fast"; "": the usual one
	Region      string // where the model was asked to run, for example "us"; "": anywhere
}

// Prompt returns the size of the request: all tokens that the model read.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		WebSearches: u.WebSearches + v.WebSearches,
	}
}

// Total returns the size of the conversation after the answer: prompt and output.
func (u Usage) Total() int { return u.Prompt() + u.Output }

// IsZero reports whether no tokens are counted, also if the usage is unknown.
func (u Usage) IsZero() bool {
	u.Speed, u.Region = "", ""
	return u == Usage{}
}
