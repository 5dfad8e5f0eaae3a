package replay

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// Replay is a session made ready to be sent through policies. It serves one
// goroutine.
type Replay struct {
	*check.Recording
	Measure // what its requests are priced by

	shown    []cacheShown // by request; made when it is first asked for
	counter  tokens.Counter
	lookup   func(name string) (prices.Model, bool)
	pointers func(*check.Index) check.PointerCheck
	hash     hasher
	blocks   []block      // by part, as it was recorded
	answers  map[int]int  // by message that is billed with this session: its index in Session.Answers; the others are copies
	index    *check.Index // made when it is first asked for
}

// New prepares a session.
func New(s *transcript.Session, c *Config) *Replay {
	r := &Replay{
		Recording: check.NewRecording(s), Measure: Measure{Fixed: c.overhead(s.HasSystem)},
		counter: c.counter(s.Model), lookup: c.lookup(), pointers: c.Pointers, hash: newHasher(),
	}
	if s.Answers == nil {
		s.Bill()
	}
	r.answers = make(map[int]int, len(s.Answers))
	for i := range s.Answers {
		r.answers[s.Answers[i].Message] = i
	}
	for _, p := range r.Parts {
		r.blocks = append(r.blocks, r.block(p.Message.Role, p.Part))
	}
	return r
}

// billed reports whether request i is billed with this session. The copy of a request that is billed with another
// session counts in no figure.
func (r *Replay) billed(i int) bool {
	_, ok := r.answers[r.Requests[i].To]
	return ok
}

// Index returns the lines of the session.
func (r *Replay) Index() *check.Index {
	if r.index == nil {
		r.index = check.NewIndex(r.Recording)
		if r.pointers != nil {
			r.index.Pointers = r.pointers(r.index)
		}
	}
	return r.index
}

// shownAt returns what the usage of request i shows of the provider's cache.
func (r *Replay) shownAt(i int) cacheShown {
	if r.shown == nil {
		r.shown = r.shownByUsage()
	}
	return r.shown[i]
}

// Counted returns the tokens that were counted of a part's text.
func (r *Replay) Counted(part int) int { return r.blocks[part].tokens }

// Outcome is one session under one policy. Costs are in plain input tokens, by the
// name of the price rule. Each is of a plan for the cold points of that rule's
// cache. All else is of the plan for the first rule.
type Outcome struct {
	Requests int
	Tokens   int64 // of all requests together
	Peak     int   // tokens of the largest request
	Cost     map[string]float64

	// Reads and repeats of the plans (trim.Stats), each result counted once
	// however many requests it was sent in.
	Reads, Repeats int
	// Changed is the number of requests, not at a cold point, in which something
	// sent before was sent differently.
	Changed int
	// Dangling is the number of results, or arguments, in whose place a
	// placeholder or the agent's own stub pointed at text that some request did
	// not hold.
	Dangling   int
	Edits      check.Edits
	LostByRule map[string]int // Edits.Lost of the plan for each rule

	// LeftOut is the number of parts that were left out, and Unshown that of those without a pointer to where the text
	// is. Recalled is how many of these the agent would have asked for again. Charged is Cost with
	// these calls: for each, one more request, its output, and the text again.
	LeftOut, Unshown, Recalled int
	Charged                    map[string]float64

	// Bill is the whole bill, after recall: Charged, with what long prompts cost more, and the answers. ByRequest is
	// the same of each request, and USD in dollars, of the requests whose price is known.
	Bill      map[string]float64
	ByRequest map[string][]float64
	USD       map[string]float64

	// RecalledByName and ChargedByName are Recalled and Charged by the stricter count of package check, which also counts names.
	RecalledByName int
	ChargedByName  map[string]float64

	// Omitted holds, by reason, the tokens that the requests did without: a text that stays
	// away counts in each request.
	Omitted map[trim.Reason]int64

	usd      []float64 // by request: what it costs in dollars under the first rule
	usdAsked []float64 // the same after recall
	wasCold  []bool    // by request: it was planned as one that finds nothing in the cache
}

// Under sends the session through a policy and prices it by every rule. It stops with the context's error.
func (r *Replay) Under(ctx context.Context, policy Policy, rules []Rule) (Outcome, error) {
	out, err := r.UnderEach(ctx, policy, rules, r.Measure)
	if err != nil {
		return Outcome{}, err
	}
	return out[0], nil
}

// UnderEach is Under for several measures: an outcome for each. It plans once for each list of cold points and price. The
// policy gets the tokens by r's own measure.
func (r *Replay) UnderEach(ctx context.Context, policy Policy, rules []Rule, measures ...Measure) ([]Outcome, error) {
	type group struct {
		points []coldPoint
		price  trim.Price
		rules  []Rule
	}
	var groups []group
	byCache := policy.byCache()
	for _, rule := range rules {
		var points []coldPoint
		var price trim.Price
		if byCache {
			points = r.coldPoints(rule)
			price = trim.Price{Read: rule.Read, Write: rule.Write}
		}
		i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.points, points) && g.price == price })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{points: points, price: price})
		}
		groups[i].rules = append(groups[i].rules, rule)
	}
	out := make([]Outcome, len(measures))
	for i, g := range groups {
		played, err := r.play(ctx, policy, g.rules, g.price, g.points, measures)
		if err != nil {
			return nil, err
		}
		for n, o := range played {
			if i == 0 {
				out[n] = o
				out[n].LostByRule = make(map[string]int, len(rules))
			}
			maps.Copy(out[n].Cost, o.Cost)
			maps.Copy(out[n].Charged, o.Charged)
			maps.Copy(out[n].Bill, o.Bill)
			maps.Copy(out[n].ByRequest, o.ByRequest)
			maps.Copy(out[n].USD, o.USD)
			maps.Copy(out[n].ChargedByName, o.ChargedByName)
			for _, rule := range g.rules {
				out[n].LostByRule[rule.Name] = o.Edits.Lost
			}
		}
	}
	return out, nil
}

// play sends the session through a policy and prices it by rules that all have
// this price and these cold points, once for each measure.
func (r *Replay) play(ctx context.Context, policy Policy, rules []Rule, price trim.Price, points []coldPoint, measures []Measure) ([]Outcome, error) {
	var caches []Cache
	for _, rule := range rules {
		caches = append(caches, Cache{Rule: rule.Rule, Recorded: rule.Recorded})
	}
	view := r.Index().View()
	plans := planners{replay: r, policy: policy, price: price, from: -1}
	var bills []*billing
	for i := range measures {
		bills = append(bills, r.newBilling(&measures[i], rules, caches))
	}
	for i := range r.Requests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := 0
		for n < len(points) && points[n].request == i {
			n++
		}
		omissions := plans.plan(&r.Requests[i], points[:n])
		view.Show(i, omissions)
		recalled := view.Recalls(i)
		byName := view.RecallsByName(i, recalled)
		for _, b := range bills {
			b.send(i, omissions, plans.reasons, n > 0, recalled, byName)
		}
		points = points[n:]
	}
	plans.endContext()
	out := make([]Outcome, len(bills))
	for n, b := range bills {
		out[n] = b.outcome()
		out[n].Reads, out[n].Repeats = plans.reads, plans.repeats
		out[n].Dangling, out[n].Edits = view.Dangling(), view.Edits
	}
	return out, nil
}

// billing prices the requests of a session by one measure.
type billing struct {
	sender *Sender
	rules  []Rule
	charge *charge // by what the answers repeat
	byName *charge // by what they name too
	out    Outcome
}

func (r *Replay) newBilling(m *Measure, rules []Rule, caches []Cache) *billing {
	b := &billing{sender: r.newSender(m, caches), rules: rules, charge: newCharge(rules), byName: newCharge(rules), out: NewOutcome()}
	b.out.Omitted = make(map[trim.Reason]int64)
	return b
}

// send prices request i. reasons has a reason for each omission.
func (b *billing) send(i int, omissions []check.Omission, reasons []trim.Reason, isCold bool, recalled, byName []int) {
	sent := b.sender.Send(i, omissions)
	if sent.Changed && !isCold {
		b.out.Changed++
	}
	b.sender.replay.Add(&b.out, i, sent, b.rules)
	b.out.wasCold = append(b.out.wasCold, isCold)
	for n := range omissions {
		if !b.sender.replay.billed(i) {
			break
		}
		o := &omissions[n]
		s := b.sender
		before, after := s.replay.blocks[o.Part].tokens, s.placeholder(o).tokens
		b.out.Omitted[reasons[n]] += int64(s.measure.Whole(o.Part, before) - s.measure.Scaled(o.Part, after))
	}
	b.charge.add(i, b.sender, sent, omissions, recalled)
	b.byName.add(i, b.sender, sent, omissions, byName)
}

func (b *billing) outcome() Outcome {
	out := b.out
	out.LeftOut, out.Unshown = len(b.charge.leftOut), b.charge.unshown()
	out.Recalled, out.Charged = b.charge.recalls, b.charge.cost
	out.Bill, out.USD, out.ByRequest = make(map[string]float64), make(map[string]float64), make(map[string][]float64)
	for n, rule := range b.rules {
		for _, w := range b.charge.bill[n] {
			out.Bill[rule.Name] += w.tokens
			out.USD[rule.Name] += w.usd
			out.ByRequest[rule.Name] = append(out.ByRequest[rule.Name], w.tokens)
			if n == 0 {
				out.usdAsked = append(out.usdAsked, w.usd)
			}
		}
	}
	out.RecalledByName, out.ChargedByName = b.byName.recalls, b.byName.cost
	return out
}

// NewOutcome returns an outcome without requests.
func NewOutcome() Outcome {
	return Outcome{Cost: make(map[string]float64), Bill: make(map[string]float64), USD: make(map[string]float64)}
}

// Add adds request i to an outcome, as it was billed by a cache for each rule. The copy of a request that is billed with another session does not count.
func (r *Replay) Add(o *Outcome, i int, s Sent, rules []Rule) {
	if !r.billed(i) {
		o.usd = append(o.usd, 0)
		return
	}
	o.Requests++
	o.Tokens += int64(s.Tokens)
	o.Peak = max(o.Peak, s.Tokens)
	p, output := r.rateOf(i, s.Tokens), r.output(i)
	for n, rule := range rules {
		cost := s.Bills[n].cost(rule.Rule)
		w := p.whole(cost, output)
		o.Cost[rule.Name] += cost
		o.Bill[rule.Name] += w.tokens
		o.USD[rule.Name] += w.usd
		if n == 0 {
			o.usd = append(o.usd, w.usd)
		}
	}
}

// planners are the planners of one context, one for each model: each model has a
// cache, and so a plan, of its own.
type planners struct {
	replay         *Replay
	policy         Policy
	price          trim.Price
	from           int // the first message of the context
	byModel        map[string]*planner
	reasons        []trim.Reason // of what the last plan leaves out
	best           Plan          // the most reads and repeats of any plan of the context
	reads, repeats int           // of the contexts before
}

type planner struct {
	Planner
	added int // the messages before this one were added
}

// plan returns what a request leaves out.
func (p *planners) plan(q *check.Request, points []coldPoint) []check.Omission {
	if p.policy == nil {
		return nil
	}
	if q.From != p.from {
		p.endContext()
		p.from, p.byModel = q.From, make(map[string]*planner)
	}
	of := p.byModel[q.Model]
	if of == nil {
		m, _ := p.replay.lookup(cmp.Or(q.Model, p.replay.Session.Model))
		of = &planner{p.policy(Setting{
			Dir: p.replay.Session.Dir, Fixed: p.replay.Fixed, Count: p.replay.count, Price: p.price, Window: m.Window, BillsThinking: m.BillsThinking(),
		}), q.From}
		p.byModel[q.Model] = of
	}
	for {
		for len(points) > 0 && points[0].after == of.added {
			of.Planner.(CachePlanner).Cold(points[0].why)
			points = points[1:]
		}
		if of.added == q.To {
			break
		}
		of.Add(&p.replay.Session.Messages[of.added])
		of.added++
	}
	plan := of.Plan()
	p.best.Reads, p.best.Repeats = max(p.best.Reads, plan.Reads), max(p.best.Repeats, plan.Repeats)
	out := make([]check.Omission, len(plan.Omissions))
	p.reasons = p.reasons[:0]
	for i, o := range plan.Omissions {
		p.reasons = append(p.reasons, o.Reason)
		out[i] = check.Omission{Part: p.replay.First[q.From+o.Message] + o.Part, Placeholder: o.Text, Pointer: o.Pointer}
	}
	return out
}

// endContext adds what the plans of the context counted.
func (p *planners) endContext() {
	p.reads += p.best.Reads
	p.repeats += p.best.Repeats
	p.best = Plan{}
}

// count returns the tokens of a part.
func (r *Replay) count(p *llm.Part) int { return partTokens(p, r.counter) }
