package llm

// Usage is what one request used, in tokens, with every token counted once:
// Input excludes what was read from or written to the cache. Providers differ
// in this (what some call input includes cached tokens, with others it does
// not); the codecs bring all to this form (CTX-1).
type Usage struct {
	Input        int // not cached
	CacheRead    int
	CacheWrite   int // all cache writes, whatever their lifetime
	CacheWrite1h int // the part of CacheWrite that lives for an hour
	Output       int // reasoning included
	Reasoning    int // the part of Output that was reasoning
}

// Prompt is the size of the request: everything the model read.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Total is what the conversation holds after the answer: prompt and output.
func (u Usage) Total() int { return u.Prompt() + u.Output }

// IsZero reports whether nothing was used, or nothing was said of it.
func (u Usage) IsZero() bool { return u == Usage{} }
