package proxy

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// If a provider checks what stands before thinking, messages that were sent once are sent again in the same form (package sent).
// The engine still plans the whole request. If its plan has another form for these messages, they go out in their old form, and only
// the new messages are planned. If nothing can be planned, the new messages go out whole. So it never matters whether
// a plan can be made twice in the same way.

// maxLookUp is how long a request waits for the store to return the sent forms of its conversation.
const maxLookUp = 2 * time.Second

// sentForms holds what is known of how the beginning of a request was sent. The zero value is for a provider that checks nothing.
type sentForms struct {
	checks       bool               // the provider checks what stands before thinking, so the form of the request is remembered
	bound        bool               // checks holds, and the conversation has thinking
	conversation *sent.Conversation // the messages
	known        []sent.Known       // the likeliest first; empty: nothing is known
	formless     bool               // the conversation is known, but no form of it
	late         bool               // formless holds, and the provider was not known to check: the request is planned as before
	unsure       bool               // the store did not answer fully: another process may have sent more than is known
	before       int                // number of messages sent before: those before the last message of the model
}

// lookUp finds how the beginning of a request was sent.
func (p *Proxy) lookUp(x *exchange, d *reading) {
	if d.request == nil || d.request.Chained || d.api == record.GenerateContent {
		return
	}
	judged := d.asked.Decoded != nil // false: finding the conversation failed
	rule := p.rules.of(d.api, d.model)
	if !rule.checks && !(rule.mayCheck && handsOn(d.request)) && !(judged && p.cache.Checks(&d.asked)) {
		return
	}
	messages := d.request.Messages
	if len(d.chain.Links)+d.chain.Skip != len(messages) {
		d.chain = prefix.ChainOf(messages, nil, 0)
	}
	d.forms.checks = true
	d.forms.conversation = sent.Of(messages, &d.chain)
	d.forms.before = d.forms.conversation.Last()
	ctx, cancel := context.WithTimeout(p.base, maxLookUp)
	defer cancel()
	var err error
	if d.forms.known, err = p.forms.Find(ctx, d.forms.conversation); err != nil {
		d.forms.unsure = true
		p.log.Warn("how a conversation was sent is not known for certain", "conversation", x.row.Conversation, "error", err)
	}
	// A client may leave its thinking out of some requests and send it again later.
	d.forms.bound = d.forms.likeliest().Bound || cachestate.FirstThinking(d.request) >= 0
	d.asked.Bound = d.forms.bound
	d.forms.formless = judged && len(d.forms.known) == 0 && p.cache.Known(&d.asked)
	d.forms.late = d.forms.formless && rule.mayCheck
}

// repeats reports whether the messages of a request must go out in the likeliest form. This is the form in which they were sent, or,
// for an unknown conversation, the form in which they came. A conversation that is known without a form is planned instead.
func (d *reading) repeats() bool { return d.forms.bound && !d.forms.formless }

// goAsSent sends a request whose new part must not be shortened. Its beginning goes out in the form in which it was sent. why is the
// reason. If the request goes untouched instead, goAsSent returns the cause.
func (p *Proxy) goAsSent(x *exchange, d *reading, why cause) cause {
	failed := p.safely(x, func() cause {
		plan, err := p.asSent(d, d.forms.likeliest())
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

// goesOut records how a request goes upstream, continuing the form from. The rows that later requests need are stored before any byte of
// the answer is passed on, because the process may end at any time. If the verdict decides something, it is stored before the request
// goes out. judged says that there is a verdict.
func (p *Proxy) goesOut(x *exchange, d *reading, from sent.Known, judged bool) {
	b, kept := p.formOf(x, d, from)
	decides := judged && d.verdict.Decides()
	if judged {
		x.row.Cache = record.Cache{Gap: d.verdict.Cache.Gap, Lifetime: d.verdict.Cache.Lifetime, Moment: string(d.verdict.New)}
		x.sent = p.cache.Commit(d.asked, d.verdict, d.plan.Seen())
		if !p.unchanged && (decides || d.forms.checks) {
			b.Turns = x.sent.Turns()
		}
	}
	if x.stored = p.store(b, kept); decides {
		p.writer.wait(x.stored)
	}
	p.keepDropping(x, from)
}

// sentBefore is how many messages are assumed to be sent in the likeliest form; later ones were sent without stet. If a form is known here
// and the store did not answer, another process may have sent the later messages by the same rules. Then only the messages of the known
// form count, and the rest is planned.
func (f *sentForms) sentBefore() int {
	if f.unsure && len(f.known) > 0 {
		return f.likeliest().Messages
	}
	return f.before
}

// likeliest returns the first known form. Without one it returns the zero value: the messages as they came.
func (f *sentForms) likeliest() (known sent.Known) {
	if len(f.known) > 0 {
		known = f.known[0]
	}
	return known
}

// asSent returns the plan that repeats only the edits with which the messages were sent. It also asks the provider to clear what it
// was asked to clear before.
//
// A client may change what it sent before. Where a pointer names what is certainly gone, its text is whole again: the provider refuses thinking behind
// such a change in any case, or does not check it.
func (p *Proxy) asSent(d *reading, known sent.Known) (*trim.Plan, error) {
	plan, err := p.everSent(d, known)
	if err == nil && !known.Same {
		plan.Restore(d.request.Messages)
	}
	return plan, err
}

// everSent is asSent, with all edits.
func (p *Proxy) everSent(d *reading, known sent.Known) (*trim.Plan, error) {
	edits, cleared, err := p.forms.Edits(known.Form, d.forms.conversation, known.Messages)
	if err != nil {
		return nil, err
	}
	plan := new(trim.Plan)
	if d.asks {
		plan.ClearFirst(d.request.Messages, cleared)
	}
	for _, e := range edits {
		part := &d.request.Messages[e.Message].Parts[e.Part]
		before := len(part.Text)
		if part.Kind == llm.ToolCall {
			before = len(part.Args)
		}
		plan.Edits = append(plan.Edits, e.Edit)
		plan.Omissions = append(plan.Omissions, trim.Omission{
			Message: e.Message, Part: e.Part, CallID: part.CallID, Reason: trim.Reason(e.Reason), Before: before, After: len(e.Text),
		})
		plan.Saved += before - len(e.Text)
	}
	return plan, nil
}

// engineOf returns the engine for a request.
func (p *Proxy) engineOf(x *exchange, d *reading) (*trim.Engine, error) {
	return p.engines.of(d.api, d.model, &d.request.Caching, terms{
		checks: d.forms.checks && !d.forms.late, kept: x.body.turn != nil, clears: d.clears,
	})
}

// editsBefore returns the edits of the first n messages.
func editsBefore(edits []llm.Edit, n int) []llm.Edit {
	i := 0
	for i < len(edits) && edits[i].Message < n {
		i++
	}
	return edits[:i]
}

// formOf remembers how a request goes upstream: the form of its beginning, and the edits of its new messages. It returns the rows to
// be stored, and a function to be called once they are stored; nil: no call is needed.
func (p *Proxy) formOf(x *exchange, d *reading, from sent.Known) (b record.Batch, kept func()) {
	if !d.forms.checks || x.api == record.CountTokens {
		return b, nil
	}
	form, drops := from.Form, from.Drops
	var edits []sent.Edit
	cleared := 0 // calls that the form does not have as cleared yet
	if plan := d.plan; plan != nil && (x.body.patched != nil || d.asks && plan.ClearedCalls > 0) {
		before, err := p.everSent(d, from)
		if err != nil || !slices.Equal(editsBefore(plan.Edits, from.Messages), before.Edits) {
			form, from, before = nil, sent.Known{}, new(trim.Plan)
		}
		if d.asks && plan.ClearedCalls != before.ClearedCalls {
			cleared = plan.ClearedCalls
		}
		for i, e := range plan.Edits {
			if e.Message >= from.Messages {
				edits = append(edits, sent.Edit{Edit: e, Reason: string(plan.Omissions[i].Reason)})
			}
		}
	} else if !x.body.continues() { // the provider keeps what it stored, whatever is sent
		form = nil
	}
	x.form = &sent.Sent{Form: form.Extend(d.forms.conversation, from.Messages, edits, cleared), Bound: d.forms.bound, Drops: drops}
	if d.api != record.Messages && x.form.Bound && !x.form.Form.Empty() { // here no signature in an answer shows this
		p.conversations.bind()
	}
	b, kept = p.forms.Note(x.form, d.forms.conversation, x.row.Time)
	if p.forgets(x) {
		return record.Batch{}, nil
	}
	return b, kept
}

// forgets reports whether the form of a request need not be stored: it is sent unchanged, and so are all other requests.
func (p *Proxy) forgets(x *exchange) bool { return p.unchanged && x.form.Form.Empty() && !x.form.Drops }

// store writes rows at once. The channel closes when they are written.
func (p *Proxy) store(b record.Batch, kept func()) <-chan struct{} {
	if p.writer == nil || b.Empty() {
		return nil
	}
	p.work.Add(1) // the request is already counted, so Add does not race with Wait
	return p.writer.writeNow(b, kept, p.work.Done)
}

// sign remembers the signatures in b, a piece of an answer. It does so before the client gets b, because the client can then continue.
func (p *Proxy) sign(x *exchange, b []byte) {
	if x.meter == nil || x.form == nil || !bytes.Contains(b, []byte("}")) {
		return
	}
	var rows record.Batch
	for _, signature := range x.meter.Signatures() {
		rows.Places = append(rows.Places, p.forms.Answered(x.form, signature, time.Now())...)
	}
	if len(rows.Places) > 0 && !x.form.Form.Empty() {
		p.conversations.bind()
	}
	if !p.forgets(x) {
		p.writer.wait(p.store(rows, nil))
	}
}
