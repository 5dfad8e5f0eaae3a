package bench

import (
	"slices"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
)

// Bench is what `stet bench --json` prints. The members of Group stand beside
// those of Bench.
type Bench struct {
	Group
	ByFormat  map[string]*Group `json:"by_format"`
	ByStratum map[string]*Group `json:"by_stratum"` // as an index beside the sessions says

	// Reported is the same by the sizes that the provider itself reported, of
	// the sessions where it did. What is hidden in these cannot be cut.
	Reported *Group        `json:"reported"`
	Counting Counting      `json:"counting"`
	Skipped  []replay.Skip `json:"skipped"`
	Damaged  []replay.Skip `json:"damaged"` // sessions that could not be read whole, and what is missing

	Own   map[string]int         `json:"own"`   // sessions by the name of their own cache's rule; see OwnRule
	Cache map[string]*CacheCheck `json:"cache"` // by the name of the recorded cache's rule
}

// OwnRule names, among the price rules of the figures, each session's own: that
// of the cache which its recorded usage shows, with the prices of its model; where
// none is recorded, what the model's provider does when it is not asked; where
// the model is not known either, the first of the others.
const OwnRule = "own"

// RecordedRule names OwnRule with a cache that lives as the recorded usage says: what the provider
// really read from it is charged, and plans are made for what a proxy can know before a request.
const RecordedRule = "recorded"

func namedRule(name string) replay.Rule { return replay.Rule{Rule: prices.Rule{Name: name}} }

// Group is the figures of some sessions.
type Group struct {
	Sessions int       `json:"sessions"`
	Requests int       `json:"requests"`
	Policies []Figures `json:"policies"`
}

// Figures are one policy's on all sessions of a group. Costs are in plain input
// tokens by price rule, OwnRule among them, each of plans made for that rule's cache; tokens, peak,
// edits and dangling are of the plans for the first rule.
type Figures struct {
	Name   string             `json:"name"`
	Tokens int64              `json:"tokens"`
	Cost   map[string]float64 `json:"cost"`
	// Rel is cost/off − 1 of all sessions together under the first rule;
	// MedianSession and WorstSession are the sessions' own.
	Rel            float64 `json:"rel"`
	Peak           int     `json:"peak"` // tokens of the largest request
	EditsSupported int     `json:"edits_supported"`
	EditsLost      int     `json:"edits_lost"`
	EditsSplit     int     `json:"edits_split"`
	Dangling       int     `json:"dangling"`
	WorstSession   float64 `json:"worst_session"`
	MedianSession  float64 `json:"median_session"`

	WorstFile   string             `json:"worst_file"`
	RelTokens   float64            `json:"rel_tokens"`
	RelByRule   map[string]float64 `json:"rel_by_rule"`
	WorstByRule map[string]float64 `json:"worst_by_rule"`
	LostByRule  map[string]int     `json:"lost_by_rule"`

	// RelRecall, WorstRecall and MedianRecall are RelByRule, WorstByRule and
	// MedianSession with the calls by which the agent would have asked again for what
	// was left out. LeftOut counts the parts left out, Recalled those asked for again.
	LeftOut      int                `json:"left_out"`
	Recalled     int                `json:"recalled"`
	RelRecall    map[string]float64 `json:"rel_recall"`
	WorstRecall  map[string]float64 `json:"worst_recall"`
	MedianRecall float64            `json:"median_recall"`

	Source  string `json:"source,omitempty"`
	charged map[string]float64
}

// Counting is how far the size expected of a request was from the one that was
// then reported, as a share of it, where the request before it was reported too.
type Counting struct {
	Requests int     `json:"requests"`
	Median   float64 `json:"median"`
	P90      float64 `json:"p90"`
}

// fill groups what was played.
func (b *Bench) fill(all []*played, policies []Policy, rules []replay.Rule) {
	b.ByFormat, b.ByStratum = make(map[string]*Group), make(map[string]*Group)
	b.Cache = make(map[string]*CacheCheck)
	if b.Skipped == nil {
		b.Skipped = []replay.Skip{}
	}
	b.Damaged, b.Own = []replay.Skip{}, make(map[string]int)
	counted := func(p *played) []replay.Outcome { return p.outcomes }
	b.Group = *group(all, policies, rules, counted)
	formats, strata := make(map[string][]*played), make(map[string][]*played)
	var reported []*played
	for _, p := range all {
		b.Own[p.own]++
		if p.damage != "" {
			b.Damaged = append(b.Damaged, replay.Skip{File: p.file, Reason: p.damage})
		}
		formats[p.format] = append(formats[p.format], p)
		if p.stratum != "" {
			strata[p.stratum] = append(strata[p.stratum], p)
		}
		if p.reported != nil {
			reported = append(reported, p)
		}
		if name := p.cache.rule; name != "" {
			if b.Cache[name] == nil {
				b.Cache[name] = new(CacheCheck)
			}
			b.Cache[name].add(p.cache)
		}
	}
	for name, some := range formats {
		b.ByFormat[name] = group(some, policies, rules, counted)
	}
	for name, some := range strata {
		b.ByStratum[name] = group(some, policies, rules, counted)
	}
	b.Reported = group(reported, policies, rules, func(p *played) []replay.Outcome { return p.reported })
}

// group adds up the outcomes of some sessions.
func group(some []*played, policies []Policy, rules []replay.Rule, of func(*played) []replay.Outcome) *Group {
	g := &Group{Sessions: len(some), Policies: []Figures{}}
	for _, p := range some {
		g.Requests += p.requests
	}
	for i := range policies {
		f := figures(&policies[i], rules)
		offCost, offTokens := make(map[string]float64), int64(0)
		var each, eachCharged []float64
		for _, p := range some {
			off, with := &of(p)[0], &of(p)[i]
			f.add(with)
			offTokens += off.Tokens
			for _, rule := range rules {
				offCost[rule.Name] += off.Cost[rule.Name]
				rel := change(off.Cost[rule.Name], with.Cost[rule.Name])
				if len(each) == 0 || rel > f.WorstByRule[rule.Name] {
					f.WorstByRule[rule.Name] = rel
				}
				charged := change(off.Cost[rule.Name], charged(with)[rule.Name])
				if len(each) == 0 || charged > f.WorstRecall[rule.Name] {
					f.WorstRecall[rule.Name] = charged
				}
			}
			eachCharged = append(eachCharged, change(off.Cost[rules[0].Name], charged(with)[rules[0].Name]))
			rel := change(off.Cost[rules[0].Name], with.Cost[rules[0].Name])
			if len(each) == 0 || rel > f.WorstSession {
				f.WorstSession, f.WorstFile = rel, p.file
			}
			each = append(each, rel)
		}
		if len(each) > 0 {
			f.MedianSession, f.MedianRecall = median(each), median(eachCharged)
		}
		f.RelTokens = change(float64(offTokens), float64(f.Tokens))
		for _, rule := range rules {
			f.RelByRule[rule.Name] = change(offCost[rule.Name], f.Cost[rule.Name])
			f.RelRecall[rule.Name] = change(offCost[rule.Name], f.charged[rule.Name])
		}
		f.Rel = f.RelByRule[rules[0].Name]
		g.Policies = append(g.Policies, f)
	}
	return g
}

func figures(p *Policy, rules []replay.Rule) Figures {
	f := Figures{
		Name: p.Name, Source: p.Source, Cost: make(map[string]float64), RelByRule: make(map[string]float64),
		WorstByRule: make(map[string]float64), LostByRule: make(map[string]int),
		RelRecall: make(map[string]float64), WorstRecall: make(map[string]float64), charged: make(map[string]float64),
	}
	for _, rule := range rules {
		f.Cost[rule.Name], f.RelByRule[rule.Name], f.WorstByRule[rule.Name], f.LostByRule[rule.Name] = 0, 0, 0, 0
	}
	return f
}

// add adds one session's outcome.
func (f *Figures) add(o *replay.Outcome) {
	f.Tokens += o.Tokens
	f.Peak = max(f.Peak, o.Peak)
	f.EditsSupported += o.Edits.Supported
	f.EditsLost += o.Edits.Lost
	f.EditsSplit += o.Edits.Split
	f.Dangling += o.Dangling
	for name, v := range o.Cost {
		f.Cost[name] += v
	}
	f.LeftOut += o.LeftOut
	f.Recalled += o.Recalled
	for name, v := range charged(o) {
		f.charged[name] += v
	}
	for name, n := range o.LostByRule {
		f.LostByRule[name] += n
	}
}

// change returns with/off − 1, 0 where there was nothing.
func change(off, with float64) float64 {
	if off == 0 {
		return 0
	}
	return with/off - 1
}

// charged is the cost of a session after recall. A bound recalls nothing.
func charged(o *replay.Outcome) map[string]float64 {
	if o.Charged == nil {
		return o.Cost
	}
	return o.Charged
}

// median sorts some figures and returns the one in the middle.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
