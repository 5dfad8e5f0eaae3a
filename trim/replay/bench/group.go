package bench

import (
	"slices"

	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// fill groups what was played.
func (b *Bench) fill(all []*played, policies []Policy, rules []replay.Rule) {
	b.ByFormat, b.ByStratum = make(map[string]*Group), make(map[string]*Group)
	b.Cache = make(map[string]*CacheCheck)
	if b.Skipped == nil {
		b.Skipped = []replay.Skip{}
	}
	b.Damaged, b.Own = []replay.Skip{}, make(map[string]int)
	g := grouping{policies, rules, countedSizes}
	b.Group = *g.whole(all)
	formats, strata := make(map[string][]*played), make(map[string][]*played)
	var reported []*played
	for _, p := range all {
		b.Own[p.own]++
		if p.damage != "" {
			b.Damaged = append(b.Damaged, replay.Skip{File: p.file, Reason: p.damage})
		}
		formats[p.format] = append(formats[p.format], p)
		if p.about.Stratum != "" {
			strata[p.about.Stratum] = append(strata[p.about.Stratum], p)
		}
		if p.free.reported != nil {
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
		b.ByFormat[name] = g.group(some)
	}
	for name, some := range strata {
		b.ByStratum[name] = g.whole(some)
	}
	g.sizes = reportedSizes
	b.Reported = g.whole(reported)
}

// grouping makes the figures of groups of sessions.
type grouping struct {
	policies []Policy
	rules    []replay.Rule
	sizes    func(*regime) []replay.Outcome
}

func freeRegime(p *played) *regime  { return &p.free }
func boundRegime(p *played) *regime { return &p.bound }

func countedSizes(r *regime) []replay.Outcome  { return r.counted }
func reportedSizes(r *regime) []replay.Outcome { return r.reported }

// billedSizes are those that were reported, where they were.
func billedSizes(r *regime) []replay.Outcome {
	if r.reported != nil {
		return r.reported
	}
	return r.counted
}

// whole returns the figures of some sessions with all that Group has.
func (g *grouping) whole(some []*played) *Group {
	out := g.group(some)
	out.ByAgent, out.ByRepository = make(map[string]*Group), make(map[string]*Group)
	agents, repositories := make(map[string][]*played), make(map[string][]*played)
	for _, p := range some {
		agent := p.product
		agents[agent] = append(agents[agent], p)
		if name := p.about.Repository; name != "" {
			repositories[name] = append(repositories[name], p)
		}
	}
	for name, of := range agents {
		out.ByAgent[name] = g.group(of)
	}
	for name, of := range repositories {
		out.ByRepository[name] = g.group(of)
	}
	d := newDraws(some)
	for i := range out.Policies {
		f := &out.Policies[i]
		d.fill(f, some, i, freeRegime)
		if f.Bound != nil {
			d.fill(f.Bound, some, i, boundRegime)
		}
	}
	return out
}

// group adds up the outcomes of some sessions.
func (g *grouping) group(some []*played) *Group {
	out := &Group{Sessions: len(some), Policies: []Figures{}}
	var heads []float64
	for _, p := range some {
		out.Requests += p.requests
		out.Answers += p.answers
		if billedSizes(&p.free)[0].USD[RecordedRule] > 0 {
			out.PricedSessions++
		}
		if p.free.reported != nil {
			out.ReportedSessions++
			heads = append(heads, float64(p.head))
		}
	}
	if len(heads) > 0 {
		out.Head = int(median(heads))
	}
	for i := range g.policies {
		f := g.figures(some, i, freeRegime)
		if !g.policies[i].whereChecked().idle {
			bound := g.figures(some, i, boundRegime)
			f.Bound = &bound
		}
		out.Policies = append(out.Policies, f)
	}
	return out
}

// figures adds up the outcomes of some sessions under policy i.
func (g *grouping) figures(some []*played, i int, regime func(*played) *regime) Figures {
	f := newFigures(&g.policies[i], g.rules)
	for _, p := range some {
		f.add(&g.sizes(regime(p))[i])
	}
	offTokens := int64(0)
	for _, p := range some {
		offTokens += g.sizes(regime(p))[0].Tokens
	}
	f.RelTokens = change(float64(offTokens), float64(f.Tokens))
	for n, rule := range g.rules {
		g.price(&f, some, i, rule.Name, n == 0, regime)
	}
	f.Rel = f.RelByRule[g.rules[0].Name]
	f.bills(some, i, regime)
	return f
}

// price fills in the figures that are relative to off, under a rule.
func (g *grouping) price(f *Figures, some []*played, i int, rule string, isFirst bool, regime func(*played) *regime) {
	var off, bill, offBill float64
	var each, eachCharged []float64
	for _, p := range some {
		sized, billed := g.sizes(regime(p)), billedSizes(regime(p))
		without, with, after := sized[0].Cost[rule], sized[i].Cost[rule], charged(&sized[i])[rule]
		rel, relCharged := change(without, with), change(without, after)
		if len(each) == 0 || rel > f.WorstByRule[rule] {
			f.WorstByRule[rule] = rel
			if isFirst {
				f.WorstSession, f.WorstFile = rel, p.file
			}
		}
		if len(each) == 0 || relCharged > f.WorstRecall[rule] {
			f.WorstRecall[rule] = relCharged
		}
		if named := change(without, orCost(sized[i].ChargedByName, &sized[i])[rule]); len(each) == 0 || named > f.WorstByName[rule] {
			f.WorstByName[rule] = named
		}
		off += without
		offBill += billed[0].Bill[rule]
		bill += billed[i].Bill[rule]
		each, eachCharged = append(each, rel), append(eachCharged, relCharged)
	}
	if isFirst && len(each) > 0 {
		f.MedianSession, f.MedianRecall = median(each), median(eachCharged)
	}
	f.RelByRule[rule], f.RelRecall[rule] = change(off, f.Cost[rule]), change(off, f.charged[rule])
	f.RelByName[rule] = change(off, f.byName[rule])
	f.RelBill[rule] = change(offBill, bill)
}

// bills fills in what the whole bills of the sessions say one by one.
func (f *Figures) bills(some []*played, i int, regime func(*played) *regime) {
	var each []float64
	offUSD := 0.0
	for _, p := range some {
		billed := billedSizes(regime(p))
		off, with := billed[0].Bill[RecordedRule], billed[i].Bill[RecordedRule]
		offUSD += billed[0].USD[RecordedRule]
		f.USD += billed[i].USD[RecordedRule]
		each = append(each, change(off, with))
		if isDearer(off, with) {
			f.Dearer++
		}
		if dearerAtAny(&billed[0], &billed[i]) {
			f.DearerAtAny++
		}
	}
	if f.RelUSD = change(offUSD, f.USD); len(each) > 0 {
		f.MedianBill = median(each)
	}
}

// isDearer reports whether a cost is above that without a policy, by more than sums are inexact.
func isDearer(off, with float64) bool { return with > off*(1+1e-9) }

// dearerAtAny reports whether a session has cost more than without a policy after any of its requests.
func dearerAtAny(off, with *replay.Outcome) bool {
	var a, b float64
	before := off.ByRequest[RecordedRule]
	for i, cost := range with.ByRequest[RecordedRule] {
		a, b = a+before[i], b+cost
		if isDearer(a, b) {
			return true
		}
	}
	return false
}

func newFigures(p *Policy, rules []replay.Rule) Figures {
	f := Figures{
		Name: p.Name, Source: p.Source, Cost: make(map[string]float64), RelByRule: make(map[string]float64),
		WorstByRule: make(map[string]float64), LostByRule: make(map[string]int),
		RelRecall: make(map[string]float64), WorstRecall: make(map[string]float64), charged: make(map[string]float64),
		RelByName: make(map[string]float64), WorstByName: make(map[string]float64), byName: make(map[string]float64), Omitted: make(map[trim.Reason]int64),
		RelBill: make(map[string]float64),
	}
	for _, rule := range rules {
		f.Cost[rule.Name], f.WorstByRule[rule.Name], f.LostByRule[rule.Name] = 0, 0, 0
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
	f.Unshown += o.Unshown
	f.Recalled += o.Recalled
	for name, v := range charged(o) {
		f.charged[name] += v
	}
	f.RecalledByName += o.RecalledByName
	for name, v := range orCost(o.ChargedByName, o) {
		f.byName[name] += v
	}
	for why, n := range o.Omitted {
		if why != "" { // a rule of others gives none
			f.Omitted[why] += n
		}
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

// charged is the cost of a session after recall.
func charged(o *replay.Outcome) map[string]float64 { return orCost(o.Charged, o) }

// orCost returns the cost after recall; of a bound, which recalls nothing, that before.
func orCost(after map[string]float64, o *replay.Outcome) map[string]float64 {
	if after == nil {
		return o.Cost
	}
	return after
}

// median sorts some figures and returns the one in the middle.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
