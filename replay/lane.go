package replay

import (
	"context"

	"github.com/stet-dev/stet/prices"
)

// outcome is what a session came to under one policy, planned for the
// moments of one lifetime.
type outcome struct {
	requests       int
	tokens         int64
	peak           int
	cost           map[string]float64 // by the rules played
	support        Support
	lost           map[string]int // by the rules planned for: edits lost
	dangling       int            // results that pointed, or in whose place a line did, at what was not there
	changed        int            // requests, not at a moment, in which something sent before was sent differently
	reads, repeats int
}

// lane is a session on its way through one policy.
type lane struct {
	rec      *recording
	policy   *Policy
	rules    []prices.Rule
	sims     []simulator
	planners map[uint64]*planning // by model: each has a cache, and so a plan, of its own

	prompt   prompt
	view     *view
	from     int // first message of the context
	base     int // its first block
	shown    int // blocks of it in the view
	cuts     []Cut
	plan     Plan
	dangling map[int]bool // blocks that pointed at what was not there
	out      outcome
}

// planning is a planner on its way through a context.
type planning struct {
	Planner
	added int // messages up to here were added
}

// replay sends the session through a policy and bills it under rules, all of
// which have these moments.
func (r *recording) replay(ctx context.Context, p *Policy, rules []prices.Rule, moments []moment) (outcome, error) {
	r.prepare()
	l := &lane{rec: r, policy: p, rules: rules, view: newView(r.texts), from: -1, dangling: make(map[int]bool)}
	l.out.cost = make(map[string]float64, len(rules))
	for _, rule := range rules {
		l.sims = append(l.sims, simulator{rule: rule, fixed: r.fixed, exact: r.exact})
		l.out.cost[rule.Name] = 0
	}
	needs := r.needs
	for i := range r.requests {
		if err := ctx.Err(); err != nil {
			return outcome{}, err
		}
		q := &r.requests[i]
		if q.from != l.from {
			l.begin(q)
		}
		n := 0
		for n < len(moments) && moments[n].request == i {
			n++
		}
		l.request(q, moments[:n])
		moments = moments[n:]
		for len(needs) > 0 && needs[0].request == i {
			l.out.support.check(r, &needs[0], l.view)
			needs = needs[1:]
		}
	}
	l.end()
	l.out.dangling = len(l.dangling)
	return l.out, nil
}

// begin starts the context of q.
func (l *lane) begin(q *request) {
	l.end()
	l.from, l.base, l.shown, l.cuts, l.plan = q.from, l.rec.first[q.from], 0, nil, Plan{}
	l.prompt.reset()
	l.view.reset()
	l.planners = make(map[uint64]*planning)
}

// planner returns the planner of the context for the model of q, to which the
// messages of q are added.
func (l *lane) planner(q *request, moments []moment) Planner {
	p := l.planners[q.root]
	if p == nil {
		p = &planning{l.policy.Begin(Setting{Dir: l.rec.session.Dir, Fixed: l.rec.fixed, Count: l.rec.count}), q.from}
		l.planners[q.root] = p
	}
	for ; ; p.added++ {
		for len(moments) > 0 && moments[0].after == p.added {
			p.Cold(moments[0].why)
			moments = moments[1:]
		}
		if p.added == q.to {
			return p
		}
		p.Add(&l.rec.session.Messages[p.added])
	}
}

// end adds what the plans of the context found.
func (l *lane) end() {
	l.out.reads += l.plan.Reads
	l.out.repeats += l.plan.Repeats
}

// request plans and bills one request.
func (l *lane) request(q *request, moments []moment) {
	reads, repeats := l.plan.Reads, l.plan.Repeats
	l.plan = Plan{}
	if l.policy.Begin != nil {
		l.plan = l.planner(q, moments).Plan()
	}
	l.plan.Reads, l.plan.Repeats = max(reads, l.plan.Reads), max(repeats, l.plan.Repeats)
	l.prompt.begin(q.root)
	before := l.prompt.kept
	l.apply(l.plan.Cuts, l.rec.first[q.to])
	l.prompt.settle()
	if l.prompt.kept < before && len(moments) == 0 {
		l.out.changed++
	}
	for i, rule := range l.rules {
		l.out.cost[rule.Name] += l.sims[i].send(&l.prompt, q.sent, q.answered).cost(rule)
	}
	size := l.rec.fixed + l.prompt.size()
	l.out.requests++
	l.out.tokens += int64(size)
	l.out.peak = max(l.out.peak, size)
}

// at returns the block that a cut replaces.
func (l *lane) at(c *Cut) int { return l.rec.first[l.from+c.Message] + c.Part }

// apply brings the prompt and the view from the last request to that of the
// blocks up to end with these cuts, from the first difference on.
func (l *lane) apply(cuts []Cut, end int) {
	same := 0
	for same < len(cuts) && same < len(l.cuts) && cuts[same] == l.cuts[same] {
		same++
	}
	from := l.base + len(l.prompt.chain)
	for _, list := range [][]Cut{cuts[same:], l.cuts[same:]} {
		if len(list) > 0 {
			from = min(from, l.at(&list[0]))
		}
	}
	l.show(cuts, same, end)
	l.prompt.cut(from - l.base)
	l.cuts = cuts
	e := same
	for e > 0 && l.at(&cuts[e-1]) >= from {
		e--
	}
	for at := l.base + len(l.prompt.chain); at < end; at++ {
		if e < len(cuts) && l.at(&cuts[e]) == at {
			l.prompt.add(l.rec.cutBlock(at, cuts[e].Text))
			e++
		} else {
			l.prompt.add(l.rec.block(at))
		}
	}
}

// show brings the view from the last request's cuts to these, the first same
// of which are the same, and looks for lines that point at nothing.
func (l *lane) show(cuts []Cut, same, end int) {
	seen := l.base + l.shown
	for at := seen; at < end; at++ {
		l.view.add(at)
	}
	l.shown = end - l.base
	again := 0 // from which cut on pointers are looked at
	if len(l.cuts) == same && (same == len(cuts) || l.at(&cuts[same]) >= seen) {
		again = same // what was shown before is as it was
	}
	for i := range l.cuts[same:] {
		at := l.at(&l.cuts[same+i])
		l.view.restore(at, l.rec.parts[at].part.Kind)
	}
	for i := range cuts[same:] {
		at := l.at(&cuts[same+i])
		l.view.cut(at, l.rec.parts[at].part.Kind, cuts[same+i].Text)
	}
	for i := again; i < len(cuts); i++ {
		at := l.at(&cuts[i])
		if l.dangling[at] {
			continue
		}
		if cuts[i].Points && !l.showsAll(at) || !l.honest(at, cuts[i].Text, end) {
			l.dangling[at] = true
		}
	}
	l.checkStubs(end)
}
