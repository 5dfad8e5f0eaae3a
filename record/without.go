package record

import "hash/maphash"

// Without returns the usage that the request would have had if nothing had been left out of it and of the request before it in the
// conversation (of the same sub-agent), which has left last; nil: not known. The tokens that were left out are estimated, and scaled by what
// the provider counted for the rest.
//
//   - What the request before had left out too would have been in the provider's cache: it is read, if this request read the cache.
//   - What is left out for the first time would have been written, or sent plain.
//   - If stet changed what the cache held, the request would have read all that the request before had left there.
func (r *Request) Without(last *Left) Usage {
	u := r.Usage
	left := r.leftOut()
	if left == 0 && (last == nil || r.Cache.Broke != BrokeStet) || u.Prompt() == 0 {
		return u
	}
	before := 0
	if last != nil {
		before = min(left, last.out)
	} else if u.CacheRead > 0 {
		before = left
	}
	whole := u.Prompt() + left
	broke := last != nil && r.Cache.Broke == BrokeStet && (r.Cache.Moment == "" || r.Cache.Alive)
	switch {
	case broke:
		u.CacheRead = max(u.CacheRead, min(whole, last.cached+before))
	case u.CacheRead > 0 && (last == nil || 2*u.CacheRead >= last.cached):
		u.CacheRead += before
	}
	fresh := whole - u.CacheRead
	if r.Usage.CacheWrite > 0 {
		u.Input = min(u.Input, fresh)
		u.CacheWrite = fresh - u.Input
	} else {
		u.Input = fresh
	}
	if r.Usage.CacheWrite1h > 0 {
		u.CacheWrite1h = min(u.CacheWrite, r.Usage.CacheWrite1h+max(0, u.CacheWrite-r.Usage.CacheWrite))
	}
	return u
}

// leftOut returns the tokens that were left out, as the provider would have counted them. Images are in the provider's count alone, so
// the scale has a limit.
func (r *Request) leftOut() int {
	left := r.TokensOff - r.Tokens
	if r.Observe || left <= 0 || r.Tokens <= 0 || r.Usage.Prompt() == 0 {
		return 0
	}
	scale := float64(r.Usage.Prompt()) / float64(r.Tokens)
	return int(float64(left) * min(max(scale, 0.5), 2))
}

// Left is what a request leaves to the next one of its conversation, in tokens: what was left out of it, and what the provider's cache
// has of it.
type Left struct{ out, cached int }

// Leaves returns what the request leaves.
func (r *Request) Leaves() *Left { return &Left{r.leftOut(), r.Usage.CacheRead + r.Usage.CacheWrite} }

// Chains pairs each request of a list, which is in the order of time, with the request before it in its conversation, of the same
// sub-agent. The zero value is ready. It takes some 50 bytes for each conversation and sub-agent.
type Chains struct {
	seed maphash.Seed
	last map[uint64]*Left
}

// Next returns what the request before r has left, or nil, and remembers r. Requests without usage, and those that count tokens, are passed over.
func (c *Chains) Next(r *Request) (last *Left) {
	if c.last == nil {
		c.seed, c.last = maphash.MakeSeed(), map[uint64]*Left{}
	}
	key := maphash.Comparable(c.seed, [2]string{r.Conversation, r.Agent})
	last = c.last[key]
	if r.API != CountTokens && r.Usage.Prompt() > 0 {
		c.last[key] = r.Leaves()
	}
	return last
}
