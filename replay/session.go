package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

// Result is what a replay came to. "Off" is the session as it was sent. Costs
// are in plain input tokens, by the name of the price rule.
type Result struct {
	Policy            history.Policy
	Requests          int
	TokensOff, Tokens int64 // of all requests together
	PeakOff, Peak     int   // of the largest request
	CostOff, Cost     map[string]float64

	// Reads, repeats and dangling lines of the plans (history.Stats), each
	// result counted once however many requests it was sent in.
	Reads, Repeats, Dangling int
	// Changed is the number of requests in which something sent before was
	// sent differently: a prompt cache was broken.
	Changed int
}

// Session replays one recorded session. A session without a request has a
// Result with Requests 0. It stops with the context's error.
func Session(ctx context.Context, s *transcript.Session, c Config) (Result, error) {
	if c.History.Root == "" {
		c.History.Root = s.Dir
	}
	engine, err := history.New(c.History)
	if err != nil {
		return Result{}, fmt.Errorf("replay %s: %w", s.File, err)
	}
	r := newRun(s, engine, &c)
	next := 0 // of s.Starts
	carried := make(map[int]bool, len(s.Carried))
	for _, i := range s.Carried {
		carried[i] = true
	}
	for i := range s.Messages {
		for next < len(s.Starts) && s.Starts[next] <= i {
			if s.Starts[next] == i && i > 0 {
				r.restart()
			}
			next++
		}
		m := &s.Messages[i]
		if m.Role == llm.Assistant && !m.Local && !carried[i] && r.any {
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			r.request(m)
		}
		r.add(m)
	}
	r.close()
	return r.result, nil
}

// run is a replay under way.
type run struct {
	engine  *history.Engine
	rules   []prices.Rule
	counter tokens.Counter
	hash    hasher
	fixed   int
	result  Result

	off, with       prompt
	simOff, simWith []simulator

	// Of the current context, since the last start.
	fold   *history.Fold
	any    bool    // a message that is sent stands in it
	blocks []block // of the parts sent, unchanged
	first  []int   // by message of fold: its first block; len(fold)+1 entries
	parts  []*llm.Message
	edits  []llm.Edit // of the last request
	stats  history.Stats

	clock time.Time // the latest of the messages' times so far; messages taken along into a new context keep their old ones
	model string    // that the last request went to
}

func newRun(s *transcript.Session, engine *history.Engine, c *Config) *run {
	r := &run{
		engine: engine, rules: c.rules(), counter: c.counter(), hash: newHasher(),
		fixed:  c.overhead(s.HasSystem),
		result: Result{Policy: engine.Policy(), CostOff: make(map[string]float64), Cost: make(map[string]float64)},
		fold:   engine.Fold(), first: []int{0},
	}
	for _, rule := range r.rules {
		r.simOff = append(r.simOff, simulator{rule: rule, fixed: r.fixed})
		r.simWith = append(r.simWith, simulator{rule: rule, fixed: r.fixed})
		r.result.CostOff[rule.Name], r.result.Cost[rule.Name] = 0, 0
	}
	return r
}

// restart begins a new context: the agent compacted the old one.
func (r *run) restart() {
	r.close()
	r.fold, r.any, r.blocks, r.first, r.parts = r.engine.Fold(), false, nil, []int{0}, nil
	r.edits, r.stats = nil, history.Stats{}
	r.off.reset()
	r.with.reset()
}

// close adds what the plans of the current context found to the result.
func (r *run) close() {
	r.result.Reads += r.stats.Reads
	r.result.Repeats += r.stats.Repeats
	r.result.Dangling += r.stats.Dangling
}

// add appends a message to the context.
func (r *run) add(m *llm.Message) {
	r.fold.Add(*m)
	r.parts = append(r.parts, m)
	r.clock = later(r.clock, m.Time)
	if !m.Local {
		r.any = true
		for i := range m.Parts {
			p := &m.Parts[i]
			r.blocks = append(r.blocks, block{r.hash.part(m.Role, p, p.Text), partTokens(p, r.counter)})
		}
	}
	r.first = append(r.first, len(r.blocks))
}

// request prices the request that m answered, without the policy and with it.
func (r *run) request(m *llm.Message) {
	if m.Model != "" {
		r.model = m.Model
	}
	root := r.hash.root(r.model)
	r.off.begin(root)
	for _, b := range r.blocks[len(r.off.chain):] {
		r.off.add(b)
	}
	r.off.settle()

	plan := r.fold.Plan()
	r.with.begin(root)
	before := r.with.kept
	r.apply(plan.Edits)
	r.with.settle()
	if r.with.kept < before {
		r.result.Changed++
	}
	r.stats.Reads = max(r.stats.Reads, plan.Reads)
	r.stats.Repeats = max(r.stats.Repeats, plan.Repeats)
	r.stats.Dangling = max(r.stats.Dangling, plan.Dangling)

	sent, answered := r.clock, m.Time
	for i := range r.rules {
		name := r.rules[i].Name
		r.result.CostOff[name] += r.simOff[i].send(&r.off, sent, answered).cost(r.rules[i])
		r.result.Cost[name] += r.simWith[i].send(&r.with, sent, answered).cost(r.rules[i])
	}
	off, with := r.fixed+r.off.size(), r.fixed+r.with.size()
	r.result.Requests++
	r.result.TokensOff += int64(off)
	r.result.Tokens += int64(with)
	r.result.PeakOff = max(r.result.PeakOff, off)
	r.result.Peak = max(r.result.Peak, with)
}

// apply brings the prompt of the last request to the blocks of this one, with
// these edits, from the first difference on.
func (r *run) apply(edits []llm.Edit) {
	same := 0
	for same < len(edits) && same < len(r.edits) && edits[same] == r.edits[same] {
		same++
	}
	from := len(r.with.chain)
	for _, list := range [][]llm.Edit{edits[same:], r.edits[same:]} {
		if len(list) > 0 {
			from = min(from, r.first[list[0].Message]+list[0].Part)
		}
	}
	r.with.cut(from)
	r.edits = edits
	e := 0
	for e < len(edits) && r.first[edits[e].Message]+edits[e].Part < len(r.with.chain) {
		e++
	}
	for i := len(r.with.chain); i < len(r.blocks); i++ {
		b := r.blocks[i]
		if e < len(edits) && r.first[edits[e].Message]+edits[e].Part == i {
			m := r.parts[edits[e].Message]
			p := m.Parts[edits[e].Part]
			p.Text = edits[e].Text
			b = block{r.hash.part(m.Role, &p, p.Text), partTokens(&p, r.counter)}
			e++
		}
		r.with.add(b)
	}
}
