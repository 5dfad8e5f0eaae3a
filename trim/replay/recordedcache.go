package replay

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
)

// The cache that a session really used: its rule, and what the recorded usage shows of it.

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
// part after the last one that is in it whole.
func (r *Replay) upToShare(i int, share float64, m *Measure) (fixed, part int) {
	q := &r.Requests[i]
	all := m.Fixed
	for part := r.Begin(q); part < r.End(q); part++ {
		all += m.Whole(part, r.Counted(part))
	}
	left := int(share * float64(all))
	fixed, part = min(m.Fixed, left), r.Begin(q)
	for left -= m.Fixed; part < r.End(q); part++ {
		if left -= m.Whole(part, r.Counted(part)); left < 0 {
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
	rule     Rule
	lifetime time.Duration // as the session has shown so far; 0: it has not
	ended    trim.Ended
}

// after returns whether the cache is taken to be gone after a pause: a gap, a guess, or "".
func (g *gone) after(pause time.Duration) trim.Cause {
	switch vouched := g.rule.Breakpoints > 0; {
	case pause <= max(g.rule.Lifetime, g.lifetime):
		return ""
	case !g.rule.Recorded || vouched || pause > time.Hour:
		return trim.Gap
	}
	return g.ended.After(pause)
}

// learn takes what the answer to a request showed that was sent after a pause.
func (g *gone) learn(pause time.Duration, s cacheShown) {
	if !g.rule.Recorded || pause <= max(g.rule.Lifetime, g.lifetime) {
		return
	}
	switch {
	case s.alive:
		g.lifetime = pause
	case s.cold:
		g.ended.Add(pause)
	}
}

// RecordedRule returns the rule of the cache that the session used: that of
// its model, with the lifetime that it paid for. It is false where no request
// says that it read from a cache.
func (r *Replay) RecordedRule() (prices.Rule, bool) {
	read, written, hour := 0, 0, 0
	for i := range r.Requests {
		if u := r.Usage(i); u != nil {
			read, written, hour = read+u.CacheRead, written+u.CacheWrite, hour+u.CacheWrite1h
		}
	}
	if read == 0 {
		return prices.Rule{}, false
	}
	marked := func(lifetime time.Duration) (prices.Rule, bool) {
		all := prices.Rules()
		i := slices.IndexFunc(all, func(r prices.Rule) bool { return r.Breakpoints > 0 && r.Lifetime == lifetime })
		return all[max(0, i)], i >= 0
	}
	if hour > 0 {
		return marked(time.Hour)
	}
	if m, ok := r.lookup(r.Session.Model); ok && m.Rule().Cached() {
		return m.Rule(), true
	}
	if written > 0 {
		return marked(5 * time.Minute)
	}
	return prices.Rule{Name: "other", Read: 0.1, Write: 1, Lifetime: 5 * time.Minute, MinTokens: 1024, Step: 1}, true
}

// OwnRule returns the rule that the session is priced by: that of the cache which its
// recorded usage shows, with the prices of its model. Where none is recorded, it is what the
// model's provider does when it is not asked; where the model is not known either, unknown.
func (r *Replay) OwnRule(unknown prices.Rule) prices.Rule {
	if rule, ok := r.RecordedRule(); ok {
		return rule
	}
	if m, ok := r.lookup(r.Session.Model); ok {
		return m.Rule()
	}
	return unknown
}
