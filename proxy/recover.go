package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/sentform"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/record"
)

// A provider that checks what stands before thinking may refuse a request whose form is not known, or is known
// wrongly. Then the request goes in another form, before the client hears of it; and at last in the first one
// again, with thinking dropped that is bound to something else. In that case later requests of the conversation ask for
// the same: the provider does not remember it.

const (
	maxTries      = 3        // of a request, with the first one
	maxBoundError = 64 << 10 // bytes of an error that is read
)

// recover sends a request again that was refused because of what stands before thinking. It returns the answer for
// the client: the first one that is no such refusal; or, if there is none, the first refusal as it came.
func (p *Proxy) recover(r *http.Request, first *http.Response) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	if x.next == nil || !refusesBound(first) {
		return first, nil
	}
	how := ""
	for tries := 1; tries < maxTries; tries++ {
		name, ok := "", false
		if tries < maxTries-1 {
			name, ok = x.next()
		}
		if !ok {
			if name, ok, tries = "drop_block", x.drop(), maxTries; !ok {
				break
			}
		}
		how = name
		again := r.Clone(r.Context())
		x.body.send(again)
		resp, err := p.config.Transport.RoundTrip(again)
		if err != nil {
			_ = first.Body.Close() // it was read
			return nil, err
		}
		if resp.StatusCode != http.StatusBadRequest {
			_ = first.Body.Close()
			p.recovered(x, how, resp.StatusCode)
			return resp, nil
		}
		_ = resp.Body.Close()
	}
	p.recovered(x, "", first.StatusCode)
	return first, nil
}

// refusesBound reads an answer that has status 400, and reports whether it refuses thinking because of what stands
// before it. The answer can be read again.
func refusesBound(resp *http.Response) bool {
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBoundError))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), resp.Body}
	return err == nil && anthropic.RefusesBound(body)
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// recovered logs and counts a request that went more than once. how is the form in which it was taken; empty: in
// none.
func (p *Proxy) recovered(x *exchange, how string, status int) {
	if how == "" {
		p.metrics.refused.WithLabelValues("none").Inc()
		p.log.Error("the provider refuses thinking, because of what stands before it, in every form that is known", "conversation", x.row.Conversation, "model", x.row.Model)
		return
	}
	if status < 300 && x.form != nil {
		x.stored = p.store(record.Batch{Places: p.forms.Taken(x.form, x.body.dropping, time.Now())}, nil)
	}
	p.metrics.refused.WithLabelValues(how).Inc()
	p.log.Warn("the provider refused thinking, because of what stands before it; the request went again", "conversation", x.row.Conversation,
		"model", x.row.Model, "form", how, "status", status)
}

// drop makes the body of a request what it was first, and has it ask for thinking to be dropped that is bound to
// something else. It reports false where that cannot be.
func (p *Proxy) drop(x *exchange, d *reading, first candidate) bool {
	if x.body.dropping {
		return false
	}
	why := p.safely(x, func() cause {
		plan, err := first.plan()
		if err != nil {
			return misfit
		}
		if d.plan != plan && (d.plan != nil || len(plan.Edits) > 0) {
			if why := p.goAs(x, d, plan, first.from); why != planned {
				return why
			}
		}
		if err := x.body.dropBound(&p.buffers); err != nil {
			return misfit
		}
		return planned
	})
	return why == planned
}

// keepDropping has a request ask for what an earlier one of its conversation asked for at last.
func (p *Proxy) keepDropping(x *exchange, from sentform.Known) {
	if !from.Drops {
		return
	}
	p.safely(x, func() cause {
		if err := x.body.dropBound(&p.buffers); err != nil {
			p.log.Warn("thinking that is bound to something else is not dropped", "conversation", x.row.Conversation, "error", err)
		}
		return planned
	})
}

// countDropped counts what the answer says was dropped of the request.
func (p *Proxy) countDropped(x *exchange) {
	m, ok := x.meter.(interface{ Dropped() int })
	if !ok {
		return
	}
	if n := m.Dropped(); n > 0 {
		p.metrics.dropped.Add(float64(n))
		p.log.Warn("the provider dropped thinking, because of what stands before it", "conversation", x.row.Conversation, "model", x.row.Model, "blocks", n)
	}
}

// computed is the plan of a request as the rules of today would have shortened it from its beginning. It is a function
// of the messages.
func (p *Proxy) computed(x *exchange, d *reading) (*history.Plan, error) {
	engine, err := p.engines.of(apiOf(x), x.row.Model, &d.request.Caching, terms{checks: d.forms.checks})
	if err != nil {
		return nil, err
	}
	return p.within(x, d, engine.Plan(d.request.Messages), sentPlan{})
}

// sameBound reports whether a plan leaves what stands before the last thinking as it was sent. Then it is refused for
// the same reason.
func (d *reading) sameBound(plan *history.Plan) bool {
	last := -1
	for i, m := range d.request.Messages {
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking }) {
			last = i
		}
	}
	if d.plan == nil {
		return len(before(plan.Edits, last)) == 0
	}
	return slices.Equal(before(plan.Edits, last), before(d.plan.Edits, last))
}
