package proxy

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// reading is what was understood of a request.
type reading struct {
	request *llm.Request // nil if it could not be decoded
	chain   chain        // of its messages; empty if they tell no conversation
	plan    *history.Plan
}

// prepare decides what goes upstream for a body of which why was found so
// far. Where nothing may change, planning goes on beside the request, and so
// does all counting.
func (p *Proxy) prepare(x *exchange, h http.Header, why cause) {
	begin := time.Now()
	var d reading
	if why == planned {
		why = p.attempt(x, func() cause { return d.decode(x) })
	}
	if failed := p.attempt(x, func() cause { return p.place(x, &d, h) }); why == planned {
		why = failed
	}
	if why == planned && !p.config.Observe && p.engine.Policy() != history.Off {
		why = p.attempt(x, func() cause { return p.change(x, &d) })
	}
	x.row.Added = time.Since(begin)
	if why != planned {
		p.passed(x, why)
		return
	}
	x.aside = make(chan struct{})
	p.work.Add(1) // the request is counted already, so this is no race with Wait
	go func() {
		defer p.work.Done()
		defer close(x.aside)
		p.report(x, &d)
	}()
}

// attempt runs f, which works on the client's text. A panic in it costs the
// plan, not the request.
func (p *Proxy) attempt(x *exchange, f func() cause) (why cause) {
	defer func() {
		if v := recover(); v != nil {
			why = panicked
			p.log.Error("planning broke off", "api", x.api, "cause", v, "stack", string(debug.Stack()))
		}
	}()
	return f()
}

func (d *reading) decode(x *exchange) cause {
	req, err := x.codec.Decode(x.body.head)
	if err != nil {
		return malformed
	}
	d.request = req
	x.row.Model = own(req.Model)
	if req.Chained {
		return chained
	}
	return planned
}

// place finds the conversation of the request.
func (p *Proxy) place(x *exchange, d *reading, h http.Header) cause {
	req := d.request
	if req == nil {
		req = new(llm.Request)
	}
	name, agent := x.codec.Session(h, req)
	name, agent = own(name), own(agent)
	x.row.Agent = agent
	var key string
	if name != "" {
		api := x.api
		if api == record.CountTokens {
			api = record.Messages
		}
		key = api + "\x00" + name + "\x00" + agent
	} else if d.request == nil || req.Chained || x.api == record.CountTokens {
		return planned // nothing to tell it by, or it is about a request that is still to come
	}
	d.chain = chainOf(p.table.seed, req.Messages)
	x.conversation = p.table.enter(key, name, &d.chain)
	x.row.Conversation = x.conversation.id
	return planned
}

// own is a copy of s, of 200 bytes at most, that keeps no body and no header in
// use.
func own(s string) string { return strings.Clone(clip(s, 200)) }

// passed reports that the request goes, or went, untouched.
func (p *Proxy) passed(x *exchange, why cause) {
	x.row.Passed = string(why)
	p.metrics.passed.WithLabelValues(x.row.Passed).Inc()
	level := p.log.Debug
	if why != chained && (x.conversation == nil || p.table.firstWarning(x.conversation, why)) {
		level = p.log.Warn
	}
	in, _ := x.body.sizes()
	level("passed through untouched", "cause", x.row.Passed, "api", x.api, "conversation", x.row.Conversation, "bytes", in)
}

// change plans the request and patches its body.
func (p *Proxy) change(x *exchange, d *reading) cause {
	plan, err := p.planOf(d.request)
	if err == nil && len(plan.Edits) > 0 {
		err = x.body.patch(x.codec, d.request, plan.Edits, &p.buffers)
	}
	if err != nil {
		p.log.Error("the patched body is not right", "api", x.api, "error", err)
		return misfit
	}
	d.plan = plan
	return planned
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

// report does what need not be done before the request goes out: the plan,
// where nothing is changed by it, and counting.
func (p *Proxy) report(x *exchange, d *reading) {
	if d.plan == nil {
		why := p.attempt(x, func() (why cause) {
			var err error
			if d.plan, err = p.planOf(d.request); err != nil {
				return misfit
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
	x.row.Reads, x.row.Repeats, x.row.Dangling = d.plan.Reads, d.plan.Repeats, d.plan.Dangling
	x.trims = d.plan.Trims
	p.attempt(x, func() cause {
		x.row.TokensOff, x.row.Tokens = p.estimate(x, d)
		return planned
	})
}
