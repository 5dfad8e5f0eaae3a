package replay

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/llm/prices"
)

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
