package proxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// prepare decides what goes upstream for a body that was received. Where
// nothing may change, planning goes on beside the request, and so does all
// counting.
func (p *Proxy) prepare(x *exchange, h http.Header) {
	begin := time.Now()
	defer func() { x.row.Added = time.Since(begin) }()
	if x.row.Passed == "" {
		p.safely(x, func() { p.decode(x) })
	}
	p.safely(x, func() { p.place(x, h) })
	if x.row.Passed != "" {
		p.pass(x)
		return
	}
	if changes := !p.config.Observe && p.engine.Policy() != history.Off; changes {
		p.safely(x, func() { p.planNow(x) })
		if x.row.Passed != "" {
			p.pass(x)
			return
		}
	}
	x.beside = true
	p.work.Add(1) // the request is counted already, so this is no race with Wait
	go func() {
		defer p.work.Done()
		defer close(x.settled)
		p.safely(x, func() { p.settle(x) })
		if x.row.Passed != "" {
			p.pass(x)
		}
	}()
}

// safely runs f. If it panics, the body goes as it came.
func (p *Proxy) safely(x *exchange, f func()) {
	defer func() {
		if v := recover(); v != nil {
			x.row.Passed, x.plan = passedPanic, nil
			if !x.beside {
				x.send = x.received
			}
			p.log.Error("planning broke off", "api", x.api, "cause", v)
		}
	}()
	f()
}

func (p *Proxy) decode(x *exchange) {
	req, err := x.codec.Decode(x.received)
	if err != nil {
		x.row.Passed = passedMalformed
		return
	}
	x.request = req
	x.row.Model = clip(req.Model, 200)
	if req.Chained {
		x.row.Passed = passedChained
	}
}

// place finds the conversation of the request.
func (p *Proxy) place(x *exchange, h http.Header) {
	req := x.request
	if req == nil {
		req = &llm.Request{}
	}
	name, agent := x.codec.Session(h, req)
	x.row.Agent = clip(agent, 200)
	var key string
	if name != "" {
		name = clip(name, 200)
		api := x.api
		if api == record.CountTokens {
			api = record.Messages
		}
		key = api + "\x00" + name + "\x00" + agent
	} else if x.request == nil || x.request.Chained {
		return // nothing to tell it by
	}
	x.chain = chainOf(p.table.seed, req.Messages)
	if x.api == record.CountTokens && key == "" {
		return // it is about a request that is still to come
	}
	x.conversation = p.table.enter(key, name, &x.chain)
	x.row.Conversation = x.conversation.id
}

// pass reports that the request goes, or went, untouched.
func (p *Proxy) pass(x *exchange) {
	p.metrics.passed.WithLabelValues(x.row.Passed).Inc()
	level := p.log.Debug
	if x.row.Passed != passedChained && (x.conversation == nil || p.table.firstWarning(x.conversation, x.row.Passed)) {
		level = p.log.Warn
	}
	level("passed through untouched", "cause", x.row.Passed, "api", x.api, "conversation", x.row.Conversation,
		"bytes", len(x.received))
}

// planNow plans the request and patches its body.
func (p *Proxy) planNow(x *exchange) {
	plan, err := p.planOf(x.request)
	if err != nil {
		x.row.Passed = passedPatch
		return
	}
	x.plan = plan
	if len(plan.Edits) == 0 {
		return
	}
	room := p.buffers.get(len(x.received))
	patched, err := x.codec.Patch(room, x.received, x.request, plan.Edits)
	x.borrowed = append(x.borrowed, patched)
	if err == nil {
		err = verify(x.received, patched, x.request, plan.Edits)
	}
	if err != nil {
		p.log.Error("the patched body is not right", "api", x.api, "error", err)
		x.row.Passed, x.plan = passedPatch, nil
		return
	}
	x.send = patched
}

// planOf plans a request. Of the plan it keeps what may be done in a body:
// results of tools that stand in it as one string.
func (p *Proxy) planOf(req *llm.Request) (*history.Plan, error) {
	full := p.engine.Plan(req.Messages)
	if len(full.Trims) != len(full.Edits) {
		return nil, errors.New("a plan has a reason for each edit")
	}
	plan := &history.Plan{Stats: full.Stats}
	for i, e := range full.Edits {
		part := req.Messages[e.Message].Parts[e.Part]
		if req.Messages[e.Message].Role == llm.Tool && part.Kind == llm.ToolResult && part.Span.Valid() {
			plan.Edits = append(plan.Edits, e)
			plan.Trims = append(plan.Trims, full.Trims[i])
		} else {
			plan.Left -= full.Trims[i].Before - full.Trims[i].After
		}
	}
	return plan, nil
}

// settle does what need not be done before the request goes out: the plan,
// where nothing is changed by it, and counting.
func (p *Proxy) settle(x *exchange) {
	defer func() { x.request, x.received = nil, nil }() // an answer may take minutes
	if x.plan == nil {
		plan, err := p.planOf(x.request)
		if err != nil {
			x.row.Passed = passedPatch
			return
		}
		x.plan = plan
	}
	if x.api == record.CountTokens {
		return
	}
	p.tally(x)
}
