package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/transcript"
)

// Result is what a replay came to. "Off" is the session as it was sent. Costs
// are in plain input tokens, by the name of the price rule, each of a plan made
// for the moments of that rule's cache. All else is of the plan for the first
// rule.
type Result struct {
	Policy            history.Policy
	Requests          int
	TokensOff, Tokens int64 // of all requests together
	PeakOff, Peak     int   // of the largest request
	CostOff, Cost     map[string]float64

	// Reads and repeats of the plans (history.Stats), each result counted once
	// however many requests it was sent in.
	Reads, Repeats int
	// Dangling is the number of results in whose place a line pointed at text
	// that was nowhere in some request.
	Dangling int
	// Changed is the number of requests in which something sent before was
	// sent differently, though it was in a cache.
	Changed int
	Support
}

// Session replays one recorded session. A session without a request has a
// Result with Requests 0. It stops with the context's error.
func Session(ctx context.Context, s *transcript.Session, c Config) (Result, error) {
	policy, err := Ours(c.History)
	if err != nil {
		return Result{}, fmt.Errorf("replay %s: %w", s.File, err)
	}
	rec := newRecording(s, &c)
	off, err := rec.all(ctx, &Policy{}, c.rules())
	if err != nil {
		return Result{}, err
	}
	with, err := rec.all(ctx, &policy, c.rules())
	if err != nil {
		return Result{}, err
	}
	return Result{
		Policy: history.Policy(policy.Name), Requests: off.requests,
		TokensOff: off.tokens, Tokens: with.tokens, PeakOff: off.peak, Peak: with.peak,
		CostOff: off.cost, Cost: with.cost,
		Reads: with.reads, Repeats: with.repeats, Dangling: with.dangling, Changed: with.changed,
		Support: with.support,
	}, nil
}

// all replays the session under every rule, planned once for each set of
// moments. All but the costs is of the plan for the first rule.
func (r *recording) all(ctx context.Context, p *Policy, rules []prices.Rule) (outcome, error) {
	if p.deaths != nil {
		return r.bounded(ctx, p.deaths(r), rules)
	}
	var sets [][]moment
	var groups [][]prices.Rule
	for _, rule := range rules {
		var m []moment
		if p.Begin != nil {
			m = r.moments(rule)
		}
		i := slices.IndexFunc(sets, func(have []moment) bool { return slices.Equal(have, m) })
		if i < 0 {
			i = len(sets)
			sets, groups = append(sets, m), append(groups, nil)
		}
		groups[i] = append(groups[i], rule)
	}
	var out outcome
	for i, m := range sets {
		o, err := r.replay(ctx, p, groups[i], m)
		if err != nil {
			return outcome{}, err
		}
		if i == 0 {
			out = o
			out.lost = make(map[string]int, len(rules))
		}
		maps.Copy(out.cost, o.cost)
		for _, rule := range groups[i] {
			out.lost[rule.Name] = o.support.Lost
		}
	}
	return out, nil
}

// count returns the tokens of a part.
func (r *recording) count(p *llm.Part) int { return partTokens(p, r.counter) }
