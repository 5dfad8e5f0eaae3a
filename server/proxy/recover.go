package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// A provider that checks what is before thinking may refuse a request if its sent edits are unknown or known
// wrongly. Then the request is sent again in another form, before the client gets an answer. The last try uses the first form
// again, and asks the provider to drop thinking that was signed after something else. Later requests of the conversation must ask for
// the same, because the provider does not remember it.

const (
	maxTries      = 3        // of a request, including the first
	maxBoundError = 64 << 10 // bytes of an error body that are read
)

// recovery holds the other ways to send a request that the provider refuses.
type recovery struct {
	reading *reading
	first   candidate   // how it was sent first
	others  []candidate // the likeliest first
}

// candidate is one body in which a request may go upstream.
type candidate struct {
	name string // for logs and metrics
	plan func() (*trim.Plan, error)
	from begin // how the messages that the plan continues were sent
}

// recoveryOf lists the other ways to send a request with signed thinking.
func (p *Proxy) recoveryOf(x *exchange, d *reading) *recovery {
	planIs := func(plan *trim.Plan) func() (*trim.Plan, error) {
		return func() (*trim.Plan, error) { return plan, nil }
	}
	original := candidate{"original", planIs(new(trim.Plan)), begin{}}
	c := &recovery{reading: d, first: candidate{"drop_block", original.plan, d.earlier.begin}}
	if d.plan != nil {
		c.first.plan = planIs(d.plan)
	}
	for _, known := range d.earlier.known {
		c.others = append(c.others, candidate{"sent edits", func() (*trim.Plan, error) { return p.asSent(d, known) }, begin{Known: known, upto: d.earlier.before}})
	}
	// A process that has not stored the form may have sent messages after the newest known form.
	if known := d.earlier.likeliest(); known.Messages < d.earlier.before && !d.earlier.formless && !p.unchanged {
		from := begin{Known: known, upto: known.Messages}
		c.others = append(c.others, candidate{"computed", func() (*trim.Plan, error) { return p.computed(x, d, from) }, from})
	}
	c.others = append(c.others, original)
	return c
}

// recovers reports whether a refusal of signed thinking is handled here. Under every policy the store may have been lost, so that it
// is not known that the conversation was shortened. With Observe an error is the client's own, unless that is known.
func (p *Proxy) recovers(d *reading) bool {
	return !p.config.Observe || !d.earlier.likeliest().Form.Empty()
}

// computed plans a request after the messages of the newest known form, or from the beginning.
func (p *Proxy) computed(x *exchange, d *reading, from begin) (*trim.Plan, error) {
	d.earlier.begin, d.verdict = from, d.verdict.Continued()
	return p.planOf(x, d)
}

// recover sends a refused request again, if it was refused because of what is before thinking. It returns the first answer that is
// not such a refusal. If every try is refused, it returns the first refusal unchanged.
func (p *Proxy) recover(r *http.Request, first *http.Response) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	if x.recovery == nil {
		return first, nil
	}
	bound := refusesBound(first)
	if x.clearing.calls > 0 && !bound {
		resp, err := p.sendWhole(r, x)
		if resp == nil && err == nil {
			return first, nil
		}
		_ = first.Body.Close()
		if err != nil || !refused(resp) {
			return resp, err
		}
		first, bound = resp, refusesBound(resp)
	}
	if !bound {
		return first, nil
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
		resp, err := plainAnswers{p.config.Transport}.RoundTrip(again)
		if err != nil {
			_ = first.Body.Close() // its body was read already
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

// refused reports whether the status says that the request itself is wrong.
func refused(resp *http.Response) bool {
	return resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity
}

// next changes the body of a request to its next candidate and records that. It returns the name of the candidate; "": none is left.
func (p *Proxy) next(x *exchange) string {
	d := x.recovery.reading
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

// drop restores the first body of a request, and adds the option to drop thinking that was signed after something else. It returns
// the name of this candidate; "": it is not possible.
func (p *Proxy) drop(x *exchange) string {
	if x.body.dropping || x.recovery.reading.api != llm.Messages {
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

// goAs changes the body of a request to another plan, and records this in place of how it was sent before.
func (p *Proxy) goAs(x *exchange, d *reading, plan *trim.Plan, from begin) cause {
	if p.apply(x, d, plan) != nil {
		return misfit
	}
	if len(plan.Edits) > 0 && cause(x.row.Passed) == managed {
		x.row.Passed = ""
	}
	p.recent.give(d.now, planState{}) // later requests must not continue from the first plan
	judged := x.pending != nil
	if judged {
		p.cache.Rollback(x.pending)
	}
	d.earlier.begin = from
	p.goesOut(x, d, judged)
	p.askToClear(x, d)
	x.reading = d
	p.writer.wait(x.stored)
	return planned
}

// refusesBound reports whether an answer with status 400 refuses thinking because of what is before it. It reads the
// body; the caller can read it again.
func refusesBound(resp *http.Response) bool {
	if resp.StatusCode != http.StatusBadRequest {
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

// failing is a reader that always returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// recovered logs and counts a request that was sent more than once. how is the candidate that was accepted; empty: none was.
func (p *Proxy) recovered(x *exchange, how string, status int) {
	if how == "" {
		p.metrics.refused.WithLabelValues("none").Inc()
		p.log.Error("the provider refuses thinking, because of what is before it, in every form that is known", "conversation", x.row.Conversation, "model", x.row.Model)
		return
	}
	if status < 300 && x.outgoing != nil {
		x.stored = p.store(record.Batch{Places: p.forms.Taken(x.outgoing, x.body.dropping, time.Now())}, nil)
	}
	p.metrics.refused.WithLabelValues(how).Inc()
	p.log.Warn("the provider refused thinking, because of what is before it; the request went again", "conversation", x.row.Conversation,
		"model", x.row.Model, "form", how, "status", status)
}

// keepDropping adds the option to drop signed thinking to a request, if an earlier request of its conversation needed it.
func (p *Proxy) keepDropping(x *exchange, from sent.Known) {
	if !from.Drops {
		return
	}
	if err := x.body.dropBound(&p.buffers); err != nil {
		p.log.Warn("thinking that was signed after something else is not dropped", "conversation", x.row.Conversation, "error", err)
	}
}

// countDropped counts the blocks of thinking that were dropped, as the answer reports them.
func (p *Proxy) countDropped(x *exchange) {
	if n := x.meter.Reading().Dropped; n > 0 {
		p.metrics.dropped.Add(float64(n))
		p.log.Warn("the provider dropped thinking, because of what is before it", "conversation", x.row.Conversation, "model", x.row.Model, "blocks", n)
	}
}

// sameBound reports whether a plan makes the same edits before the last thinking as the plan that was sent. Then the provider would
// refuse it for the same reason.
func (d *reading) sameBound(plan *trim.Plan) bool {
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
