package proxy

import (
	"bytes"
	"errors"
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

// recovery is what can be done with a request that the provider refuses.
type recovery struct {
	reading *reading
	first   candidate   // as it went first
	others  []candidate // the likeliest first
}

// candidate is one way in which a request may go upstream.
type candidate struct {
	name string // for logs and figures
	plan func() (*history.Plan, error)
	from sentform.Known // that the plan goes on from
}

// recoveryOf lists the ways in which a bound request may go upstream besides the one that it is to go.
func (p *Proxy) recoveryOf(d *reading) *recovery {
	planIs := func(plan *history.Plan) func() (*history.Plan, error) {
		return func() (*history.Plan, error) { return plan, nil }
	}
	original := candidate{"original", planIs(new(history.Plan)), sentform.Known{}}
	c := &recovery{reading: d, first: candidate{"drop_block", original.plan, d.forms.likeliest()}}
	if d.plan != nil {
		c.first.plan = planIs(d.plan)
	}
	for _, known := range d.forms.known {
		c.others = append(c.others, candidate{"sent form", func() (*history.Plan, error) { return p.asSent(d, known) }, known})
	}
	// Messages after the newest known form may have been sent by a process that has not stored it.
	if likeliest := d.forms.likeliest(); likeliest.Messages < d.forms.before && !d.forms.formless && !p.unchanged {
		c.others = append(c.others, candidate{"computed", func() (*history.Plan, error) { return p.computed(d) }, likeliest})
	}
	c.others = append(c.others, original)
	return c
}

// recovers reports whether a refusal of a bound request may come from what stet changed. Under the policy off and
// with observe that is so only where the conversation is known to have been shortened: the error is the client's own otherwise.
func (p *Proxy) recovers(d *reading) bool {
	return !p.unchanged || p.policy == history.Finish || !d.forms.likeliest().Form.Empty()
}

// computed is the plan of a request as the rules of its conversation would have shortened it behind the newest form that is
// known, or from its beginning. It is a function of the messages and that form.
func (p *Proxy) computed(d *reading) (*history.Plan, error) {
	known := d.forms.likeliest()
	sent, err := p.asSent(d, known)
	if err != nil {
		return nil, err
	}
	engine, err := p.engines.of(d.api, d.model, &d.request.Caching, terms{checks: d.forms.checks, rules: known.Form.Rules()})
	if err != nil {
		return nil, err
	}
	now := planBehind(d, engine, sentPlan{known.Messages, *sent})
	return p.within(d, now.state.Plan(), now.behind)
}

// recover sends a request again that was refused because of what stands before thinking. It returns the answer for
// the client: the first one that is no such refusal; or, if there is none, the first refusal as it came.
func (p *Proxy) recover(r *http.Request, first *http.Response) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	if x.recovery == nil {
		return first, nil
	}
	bound := refusesBound(first)
	if x.clearing.calls > 0 && !bound {
		resp, err := p.sendWhole(r, x)
		_ = first.Body.Close()
		if err != nil || !refused(resp) {
			return resp, err
		}
		first, bound = resp, refusesBound(resp)
	}
	if !bound {
		return first, nil
	}
	if x.background != nil {
		<-x.background
	}
	for try := 2; try <= maxTries; try++ {
		how := ""
		if try < maxTries {
			how = p.next(x)
		}
		if how == "" {
			how, try = p.drop(x), maxTries
		}
		if how == "" {
			break
		}
		again := r.Clone(r.Context())
		x.body.send(again)
		resp, err := p.config.Transport.RoundTrip(again)
		if err != nil {
			_ = first.Body.Close() // it was read
			return nil, err
		}
		if !refused(resp) {
			_ = first.Body.Close()
			p.recovered(x, how, resp.StatusCode)
			return resp, nil
		}
		_ = resp.Body.Close()
	}
	p.recovered(x, "", first.StatusCode)
	return first, nil
}

// refused reports whether a provider finds something wrong with a request itself.
func refused(resp *http.Response) bool {
	return resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity
}

// next makes the body of a request the next of the ways in which it may go upstream, and notes that it goes so. It
// returns the name of the way; "": there is no other.
func (p *Proxy) next(x *exchange) string {
	d := x.recovery.reading
	if d.tries() && p.giveUp(x, d) {
		return "append"
	}
	for c := x.recovery; len(c.others) > 0; {
		way := c.others[0]
		c.others = c.others[1:]
		why := p.safely(x, func() cause {
			plan, err := way.plan()
			if err != nil || d.sameBound(plan) {
				return misfit
			}
			return p.goAs(x, d, plan, way.from)
		})
		if why == planned {
			return way.name
		}
	}
	return ""
}

// drop makes the body of a request what it was first, and has it ask for thinking to be dropped that is bound to
// something else. It returns the name of that; "": it cannot be.
func (p *Proxy) drop(x *exchange) string {
	if x.body.dropping || x.recovery.reading.api != record.Messages {
		return ""
	}
	first := x.recovery.first
	why := p.safely(x, func() cause {
		plan, err := first.plan()
		if err != nil {
			return misfit
		}
		if why := p.goAs(x, x.recovery.reading, plan, first.from); why != planned {
			return why
		}
		if err := x.body.dropBound(&p.buffers); err != nil {
			return misfit
		}
		return planned
	})
	if why != planned {
		return ""
	}
	return first.name
}

// goAs makes the body of a request go upstream by another plan, and notes that it does: in place of how it went before.
func (p *Proxy) goAs(x *exchange, d *reading, plan *history.Plan, from sentform.Known) cause {
	if p.apply(x, d, plan) != nil {
		return misfit
	}
	if len(plan.Edits) > 0 && cause(x.row.Passed) == managed {
		x.row.Passed = ""
	}
	p.recent.give(d.now, planState{}) // requests that go on from this one do not go on from its first plan
	judged := x.sent != nil
	if judged {
		p.cache.Rollback(x.sent)
	}
	p.goesOut(x, d, from, judged)
	p.askToClear(x, d)
	p.report(x, d)
	p.writer.wait(x.stored)
	return planned
}

// refusesBound reads an answer that has status 400, and reports whether it refuses thinking because of what stands
// before it. The answer can be read again.
func refusesBound(resp *http.Response) bool {
	coding, plain, known := codingOf(resp.Header.Get("Content-Encoding"))
	if resp.StatusCode != http.StatusBadRequest || !known {
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
	if err == nil && !plain { // though identity was asked for
		if body, err = coding.text(body); err != nil {
			return false
		}
	}
	return err == nil && anthropic.RefusesBound(body)
}

// text is the text of a compressed body, as far as it is an error's.
func (c *coding) text(body []byte) ([]byte, error) {
	r, err := c.reader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxBoundError))
	return text, errors.Join(err, r.Close())
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

// keepDropping has a request ask for what an earlier one of its conversation asked for at last.
func (p *Proxy) keepDropping(x *exchange, from sentform.Known) {
	if !from.Drops {
		return
	}
	if err := x.body.dropBound(&p.buffers); err != nil {
		p.log.Warn("thinking that is bound to something else is not dropped", "conversation", x.row.Conversation, "error", err)
	}
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
		return len(editsBefore(plan.Edits, last)) == 0
	}
	return slices.Equal(editsBefore(plan.Edits, last), editsBefore(d.plan.Edits, last))
}
