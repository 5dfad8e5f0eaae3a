package bench

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
)

// CacheCheck is how well the simulated caches predict what the recorded ones did,
// in the sessions whose provider reported sizes and reads from its cache. The
// first request of a session is left out: what came before it is not known.
type CacheCheck struct {
	rule     string     // the recorded cache's
	Requests int        `json:"requests"`
	Read     int64      `json:"read"`   // tokens that were read from the cache
	Prompt   int64      `json:"prompt"` // tokens of these requests
	Simple   Prediction `json:"simple"` // the cache that the figures are priced by
	Exact    Prediction `json:"exact"`  // with breakpoints, least length, steps and lookback
}

// Prediction is what a simulated cache said of the requests.
type Prediction struct {
	Read int64 `json:"read"` // tokens
	// Within counts the requests whose read is at most a twentieth of the
	// prompt off.
	Within int `json:"within"`
	// FalseHits and FalseMisses count requests said to find most of the prompt
	// in the cache that did not, and the other way round.
	FalseHits   int `json:"false_hits"`
	FalseMisses int `json:"false_misses"`
}

// checkCache compares the session, whose sizes are the reported ones, with
// both simulations of the cache of the model that answered.
func checkCache(r *replay.Replay) CacheCheck {
	rule, ok := recordedRule(r)
	if !ok {
		return CacheCheck{}
	}
	c := CacheCheck{rule: rule.Name}
	sender := r.NewSender(replay.Cache{Rule: rule}, replay.Cache{Rule: rule, Exact: true})
	for i := range r.Requests {
		sent := sender.Send(i, nil)
		u := r.Usage(i)
		if i == 0 || u == nil || u.Prompt() == 0 {
			continue
		}
		c.Requests++
		c.Read += int64(u.CacheRead)
		c.Prompt += int64(u.Prompt())
		c.Simple.compare(sent.Bills[0].Read, u.CacheRead, u.Prompt())
		c.Exact.compare(sent.Bills[1].Read, u.CacheRead, u.Prompt())
	}
	return c
}

func (p *Prediction) compare(said, was, prompt int) {
	p.Read += int64(said)
	if d := said - was; 20*max(d, -d) <= prompt {
		p.Within++
	}
	switch hit := 2*said > prompt; {
	case hit && 2*was <= prompt:
		p.FalseHits++
	case !hit && 2*was > prompt:
		p.FalseMisses++
	}
}

// recordedRule returns the rule of the cache that the session used: that of
// its model, with the lifetime that it paid for. It is false where no request
// says that it read from a cache.
func recordedRule(r *replay.Replay) (prices.Rule, bool) {
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
	if m, ok := prices.Lookup(r.Session.Model); ok && m.Rule().Cached() {
		return m.Rule(), true
	}
	if written > 0 {
		return marked(5 * time.Minute)
	}
	return prices.Rule{Name: "other", Read: 0.1, Write: 1, Lifetime: 5 * time.Minute, MinTokens: 1024, Step: 1}, true
}

// ownRule is OwnRule of the session.
func ownRule(r *replay.Replay, unknown prices.Rule) prices.Rule {
	if rule, ok := recordedRule(r); ok {
		return rule
	}
	if m, ok := prices.Lookup(r.Session.Model); ok {
		return m.Rule()
	}
	return unknown
}

func (c *CacheCheck) add(o CacheCheck) {
	c.Requests += o.Requests
	c.Read += o.Read
	c.Prompt += o.Prompt
	c.Simple.add(o.Simple)
	c.Exact.add(o.Exact)
}

func (p *Prediction) add(o Prediction) {
	p.Read += o.Read
	p.Within += o.Within
	p.FalseHits += o.FalseHits
	p.FalseMisses += o.FalseMisses
}
