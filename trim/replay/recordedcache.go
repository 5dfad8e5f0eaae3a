package replay

import (
	"time"

	"github.com/stet-dev/stet/llm/prices"
)

// Rule is a price rule, with the choice of how long its cache lives.
type Rule struct {
	prices.Rule
	// Recorded: the cache is alive where the usage in the recording says so, and holds no more than was read
	// then, whatever the clock says. Requests without usage go by the clock. Plans are made for what a proxy
	// knows before it sends a request: see gone.
	Recorded bool
}

// Rules returns the price rules that reports price by. Their caches go by the clock.
func Rules() []Rule {
	var out []Rule
	for _, r := range prices.Rules() {
		out = append(out, Rule{Rule: r})
	}
	return out
}

// cacheShown is what the usage of a request shows of the provider's cache.
type cacheShown struct {
	known bool    // there is usage
	alive bool    // it held what the request before had sent
	cold  bool    // it held less than half of that
	share float64 // of the prompt, that was read
}

// nearlyAll is the share of the prompt before that is read from a cache which is alive. Providers count in
// steps, and thinking that was in the prompt may have left it.
const nearlyAll = 0.9

// shownByUsage returns what the usage of each request shows.
func (r *Replay) shownByUsage() []cacheShown {
	out := make([]cacheShown, len(r.Requests))
	type prefix struct {
		from  int
		model string
	}
	before := make(map[prefix]int) // the prompt of the request before
	for i := range r.Requests {
		q, u := &r.Requests[i], r.Usage(i)
		if u == nil || u.Prompt() == 0 {
			continue
		}
		key := prefix{q.From, q.Model}
		held, prompt := before[key], u.Prompt()
		if held == 0 || held > prompt {
			held = prompt
		}
		before[key] = prompt
		out[i] = cacheShown{
			known: true, alive: float64(u.CacheRead) >= nearlyAll*float64(held), cold: 2*u.CacheRead < held,
			share: float64(u.CacheRead) / float64(prompt),
		}
	}
	return out
}

// upToShare returns how far a share of request i goes: the tokens of tools and system text in it, and the
// part behind the last one that is in it whole.
func (r *Replay) upToShare(i int, share float64, m *Measure) (fixed, part int) {
	q := &r.Requests[i]
	all := m.Fixed
	for part := r.Begin(q); part < r.End(q); part++ {
		all += m.Scaled(part, r.Counted(part))
	}
	left := int(share * float64(all))
	fixed, part = min(m.Fixed, left), r.Begin(q)
	for left -= m.Fixed; part < r.End(q); part++ {
		if left -= m.Scaled(part, r.Counted(part)); left < 0 {
			break
		}
	}
	return fixed, part
}

// gone says which pauses a cache is taken not to outlive before a request is sent. Where it goes by the clock, that
// is its lifetime. Otherwise it is what the proxy can know by then (server/proxy/cachestate): a provider
// that vouches for no lifetime may keep a cache for up to an hour, unless the session has seen one go
// sooner; and a cache that has outlived a pause lives for that long.
type gone struct {
	rule             Rule
	lifetime, cooled time.Duration // as the session has shown so far; 0: it has not
}

// after reports whether the cache is taken to be gone after a pause.
func (g *gone) after(pause time.Duration) bool {
	if pause <= max(g.rule.Lifetime, g.lifetime) {
		return false
	}
	vouched := g.rule.Breakpoints > 0
	return !g.rule.Recorded || vouched || pause > time.Hour || g.cooled > 0 && pause >= g.cooled
}

// learn takes what the answer to a request showed that was sent after a pause.
func (g *gone) learn(pause time.Duration, s cacheShown) {
	if !g.rule.Recorded || pause <= max(g.rule.Lifetime, g.lifetime) {
		return
	}
	switch {
	case s.alive:
		g.lifetime = pause
	case s.cold && (g.cooled == 0 || pause < g.cooled):
		g.cooled = pause
	}
}
