package proxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/server/proxy/threads"
	"github.com/stet-dev/stet/trim"
)

// reading is a decoded request and the decisions made on it.
type reading struct {
	api     string // for counting tokens: the API whose tokens are counted
	model   string
	view    *lease       // the body that is planned: the request's own, or the whole conversation if the request is a continuation
	request *llm.Request // nil if it could not be decoded
	chain   prefix.Chain // of its messages; empty if they do not identify a conversation
	base    *heldRequest // the held request that this one continues; nil: none
	now     *heldRequest // this request, held for later requests; nil: it is not held
	common  int          // number of messages shared with base
	asked   cachestate.Request
	verdict cachestate.Verdict
	plan    *trim.Plan // the plan that the request goes out with; nil: it goes out unchanged
	earlier knownEdits
	balance []byte // the engine's account, as it is stored
	asks    bool   // the provider may be asked to clear the results that it was asked to clear before
	clears  bool   // it may be asked to clear more results

	compacts bool // the provider is to replace the conversation by a summary
}

// prepare decides what is sent upstream for a body. why is the reason, found earlier, not to plan the body; planned: no reason. It returns
// why a person does not want the request to go upstream; nil: it may.
func (p *Proxy) prepare(x *exchange, h http.Header, why cause) (refusal *failure) {
	begin := time.Now()
	d := reading{compacts: x.compacts}
	if why == planned {
		why = p.safely(x, func() cause { return p.decode(x, &d) })
	}
	if !p.guarded(x, func() { p.findConversation(x, &d, h) }) {
		why = cmp.Or(why, panicked)
	}
	if p.guarded(x, func() { refusal = p.admit(x, &d, h) }); refusal != nil {
		return refusal
	}
	if why == planned && x.row.Holdout == record.HeldOut {
		why, x.row.Policy = held, string(trim.Off)
	}
	p.guarded(x, func() { p.lookUp(x, &d) })
	if why == planned {
		p.guarded(x, func() {
			d.asks = p.mayClear(x, &d, h)
			d.clears = d.asks && !p.unchanged && p.policy.Clears() && !anthropic.OffersServerTools(x.body.head)
			d.asked.Leaves = d.clears || p.forgetsThinking(&d)
		})
	}
	why = p.decide(x, &d, why)
	x.row.Added = time.Since(begin)
	if why != planned {
		p.passed(x, why)
		return nil
	}
	x.reading = &d
	return nil
}

// decide decides how a request goes upstream, once its conversation is found, and records that. It returns the
// reason why the request goes untouched; planned: it does not.
func (p *Proxy) decide(x *exchange, d *reading, why cause) cause {
	if why == planned || why == managed || why == held {
		if !p.guarded(x, func() { d.verdict = p.cache.Judge(d.asked) }) {
			why, d.asked.Decoded = panicked, nil
		}
		if x.body.continues() || x.compacts { // a summary is made of what was sent
			d.verdict = d.verdict.Continued()
		}
	}
	p.guarded(x, func() { p.choose(x, d, p.forms) })
	if why == planned && !p.unchanged {
		why = p.safely(x, func() cause { return p.change(x, d) })
	}
	if d.plan == nil && d.repeats() && why != threaded && why != chained {
		d.earlier.begin.whole, d.earlier.begin.cold = false, false
		why = p.goAsSent(x, d, why)
	}
	p.guarded(x, func() {
		if d.earlier.bound && !x.body.continues() && p.recovers(d) { // a request to a provider that stores the conversation is not sent again
			x.recovery = p.recoveryOf(x, d)
		}
		p.goesOut(x, d, (why == planned || why == held) && d.asked.Decoded != nil && x.api != record.CountTokens)
		p.askToClear(x, d)
	})
	return why
}

// safely runs f, which works on the client's text. If f panics, the request goes without a plan.
func (p *Proxy) safely(x *exchange, f func() cause) (why cause) {
	defer func() {
		if v := recover(); v != nil {
			why = panicked
			p.log.Error("planning broke off", "api", x.api, "cause", v, "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// guarded runs f as safely does, and reports whether f returned without a panic.
func (p *Proxy) guarded(x *exchange, f func()) bool {
	return p.safely(x, func() cause { f(); return planned }) == planned
}

// passed records that the request goes, or went, untouched.
func (p *Proxy) passed(x *exchange, why cause) {
	x.row.Passed = string(why)
	p.metrics.passed.WithLabelValues(x.row.Passed).Inc()
	level := p.log.Debug
	if why != chained && why != threaded && why != held && (x.conversation == nil || p.conversations.firstWarning(x.conversation, why)) {
		level = p.log.Warn
	}
	in, _ := x.body.sizes()
	level("passed through untouched", "cause", x.row.Passed, "api", x.api, "conversation", x.row.Conversation, "bytes", in)
}

// change plans the request and patches its body.
func (p *Proxy) change(x *exchange, d *reading) cause {
	plan, err := p.planOf(x, d)
	if err == nil {
		err = p.apply(x, d, plan)
	}
	if errors.Is(err, threads.ErrSent) {
		return x.notHeld()
	}
	if err != nil {
		p.log.Error("the patched body is not right", "api", x.api, "error", err)
		return misfit
	}
	return planned
}

// goAsSent sends a request whose new part must not be shortened. Its beginning goes out in the form in which it was sent. why is the
// reason. If the request goes untouched instead, goAsSent returns the cause.
func (p *Proxy) goAsSent(x *exchange, d *reading, why cause) cause {
	failed := p.safely(x, func() cause {
		plan, err := p.asSent(d, d.earlier.begin.Known)
		if err == nil && !plan.Empty() {
			d.verdict = d.verdict.Continued() // nothing more is left out
			err = p.apply(x, d, plan)
		}
		if err != nil {
			p.log.Error("a conversation cannot go on as it was sent", "conversation", x.row.Conversation, "error", err)
			return misfit
		}
		return planned
	})
	switch {
	case failed != planned:
		return cmp.Or(why, failed)
	case d.plan == nil:
		return why
	case why == misfit || why == panicked:
		p.passed(x, why)
	}
	return planned
}

// apply patches the body by a plan.
func (p *Proxy) apply(x *exchange, d *reading, plan *trim.Plan) error {
	err := x.body.patch(x.codec, d.view.b, d.request, plan.Edits, &p.buffers)
	if err == nil {
		d.plan = plan
		x.row.Observe = x.row.Observe && plan.Empty()
	}
	return err
}

// planOf plans a request. From the engine's plan it keeps the edits that can be made in a body: edits of
// tool results and of call arguments that are in the body as one JSON value.
func (p *Proxy) planOf(x *exchange, d *reading) (*trim.Plan, error) {
	engine, err := p.engineOf(x, d)
	if err != nil {
		return nil, err
	}
	b := &d.earlier.begin
	before, err := p.asSent(d, b.Known)
	if err != nil {
		return nil, err
	}
	if d.earlier.bound && p.policy == trim.KeepLatest {
		return before, nil
	}
	now := p.recent.resume(d, engine, before, p.head(d))
	breaks := now.state.Balance().Breaks
	now.grow(d)
	full := now.state.Plan()
	if full.Breaks > breaks && !engine.Clears() && !d.earlier.bound { // with signed thinking, only thinking leaves
		b.whole, now.cold = true, true // so that a request of which only the tokens are counted does not take the break from the one that is sent
	}
	if b.whole && !engine.Clears() {
		before, b.upto = new(trim.Plan), 0
	}
	plan, err := p.within(d, full, before)
	if err != nil {
		return nil, err
	}
	if d.balance, err = json.Marshal(now.state.Balance()); err != nil {
		return nil, err
	}
	p.recent.give(d.now, now)
	now.state.Log(plan)
	return plan, nil
}

// within returns the plan for a body: first the edits of messages that were already sent (before), then the possible edits of full.
func (p *Proxy) within(d *reading, full, before *trim.Plan) (*trim.Plan, error) {
	req := d.request
	if len(full.Omissions) != len(full.Edits) {
		return nil, errors.New("a plan has a reason for each edit")
	}
	plan := &trim.Plan{
		Edits: slices.Clone(before.Edits), Omissions: slices.Clone(before.Omissions),
		Cleared: full.Cleared, ClearedCalls: full.ClearedCalls, Root: full.Root, Stats: full.Stats,
	}
	plan.Saved += before.Saved
	if before.ClearedCalls > plan.ClearedCalls {
		plan.Cleared, plan.ClearedCalls = before.Cleared, before.ClearedCalls
	}
	head := d.earlier.begin.upto
	for i, e := range full.Edits {
		m := &req.Messages[e.Message]
		now := e.Message >= head || full.Omissions[i].Reason == trim.Thinking && !slices.Contains(before.Edits, e)
		if now && editable(m.Role, &m.Parts[e.Part]) {
			plan.Edits = append(plan.Edits, e)
			plan.Omissions = append(plan.Omissions, full.Omissions[i])
		} else {
			plan.Saved -= full.Omissions[i].Text()
		}
	}
	plan.Sort()
	return plan, nil
}

// bytesPerToken is an upper limit for the average bytes of a token in a whole prompt.
const bytesPerToken = 5

// usualMinimum is the smallest number of tokens that a prompt needs to be cached, for most models.
const usualMinimum = 1024

// head is how many of the first messages always stay as they are. Without them the prompt could become too short to be cached.
// It depends only on what is before a message, so it is the same in all later requests.
func (p *Proxy) head(d *reading) int {
	if !evicts(p.policy) {
		return 0
	}
	req := d.request
	size, least := prefix.ToolsSize(req), bytesPerToken*p.rules.of(d.api, d.model).MinTokens
	if d.earlier.checks { // then the minimum must be the same for all models
		least = bytesPerToken * usualMinimum
	}
	for i := range req.Messages {
		if size >= least {
			return i
		}
		size += prefix.TextSize(&req.Messages[i])
	}
	return len(req.Messages)
}

// editable reports whether a part may be edited in a body.
func editable(role llm.Role, p *llm.Part) bool {
	switch p.Kind {
	case llm.ToolResult:
		return role == llm.Tool && p.Span.Valid()
	case llm.ToolCall, llm.Thinking:
		return role == llm.Assistant && p.Span.Valid()
	}
	return false
}

// reports begins the background work for a request that was answered, or that will not be: token counting, and planning if the body
// may not be changed. Before the answer this work would slow the request down.
func (p *Proxy) reports(x *exchange) {
	if x.reading == nil || x.background != nil {
		return
	}
	x.background = make(chan struct{})
	p.work.Add(1) // the request is already counted, so Add does not race with Wait
	go func() {
		defer p.work.Done()
		defer close(x.background)
		p.report(x, x.reading)
	}()
}

// report makes the plan that an unchanged request would have had, compares the request with the previous one, and counts tokens.
func (p *Proxy) report(x *exchange, d *reading) {
	plan := d.plan
	if plan == nil {
		why := p.safely(x, func() (why cause) {
			var err error
			if p.config.Observe {
				p.choose(x, d, p.shadow)
			}
			if plan, err = p.planOf(x, d); err != nil {
				return misfit
			}
			if p.config.Observe {
				d.plan = plan
				p.formOf(x, d, p.shadow)
			}
			return planned
		})
		if why != planned {
			p.passed(x, why)
			return
		}
	}
	if x.api == record.CountTokens {
		return
	}
	if x.pending != nil {
		x.compared = x.pending.Compare(d.request)
	}
	x.row.Reads, x.row.Repeats, x.row.Dangling = plan.Reads, plan.Repeats, plan.Dangling
	x.row.Project = shortCopy(plan.Root)
	plan = plan.Seen()
	x.omissions = plan.Omissions
	p.guarded(x, func() {
		counter := p.counters.of(d.model)
		x.row.TokensOff, x.row.Tokens = estimate(counter, d, plan)
		x.tools = toolUseOf(counter, d.request)
		x.row.ToolSet = x.tools.offered.ID
	})
}
