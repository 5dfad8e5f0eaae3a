package proxy

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// Messages that were sent before are sent again in the same way (package sent). Only new messages are planned; at a cold point the
// whole conversation is planned again, once. If nothing can be planned, the new messages go out whole. So it never matters whether
// a plan can be made twice in the same way.

// maxLookUp is how long a request waits for the store to return how its conversation was sent.
const maxLookUp = 2 * time.Second

// knownEdits holds what is known of how the beginning of a request was sent.
type knownEdits struct {
	checks       bool               // the provider checks what is before thinking
	bound        bool               // checks holds, and the conversation has thinking: what was sent must not change
	conversation *sent.Conversation // the messages; nil: they are not known
	known        []sent.Known       // where thinking is signed, the likeliest first; empty: nothing is known
	formless     bool               // the conversation is bound and known, but no form of it
	unsure       bool               // the store did not answer fully: another process may have sent more than is known
	before       int                // number of messages sent before: those before the last message of the model
	begin        begin
	repeated     *trim.Plan // what everSent returned last; nil: nothing
	repeats      sent.Known // for these
}

// begin says how a request goes on from what was sent before. The zero value is for a request of which nothing is known.
type begin struct {
	sent.Known
	upto  int  // messages that go out as they were sent; those after Known were sent as they came
	whole bool // nothing stays as it was sent: all is planned again
	cold  bool // what is after the first keep messages is planned as at a cold point
	keep  int
}

// ask asks the store a question about a request's conversation, for at most maxLookUp. An answer that is not full is logged: the request
// then goes on from what is known.
func (p *Proxy) ask(x *exchange, question func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(p.base, maxLookUp)
	defer cancel()
	err := question(ctx)
	if err != nil {
		p.log.Warn("how a conversation was sent is not known for certain", "conversation", x.row.Conversation, "error", err)
	}
	return err
}

// maybeSent reports whether some process may have sent the beginning of a request. It asks the store for places of the beginning,
// which are stored for every request that may go out changed. So what is asked next about an unknown conversation need not be asked.
func (p *Proxy) maybeSent(x *exchange, d *reading) bool {
	d.earlier.conversation = sent.Of(d.request.Messages, &d.chain, p.recent.partsOf(d.base), d.common)
	if !evicts(p.policy) || p.unchanged || hasThinking(d.request) {
		return true
	}
	d.earlier.unsure = p.ask(x, func(ctx context.Context) error { return p.forms.LookUp(ctx, d.earlier.conversation, false) }) != nil
	return !d.earlier.unsure && p.forms.Knows(d.earlier.conversation) // else the store would not answer the next question either
}

func hasThinking(req *llm.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
}

// lookUp finds how a conversation with signed thinking was sent.
func (p *Proxy) lookUp(x *exchange, d *reading) {
	if d.request == nil || d.request.Chained {
		return
	}
	if messages := d.request.Messages; d.earlier.conversation == nil { // finding the conversation failed
		d.chain = prefix.ChainOf(messages, nil, 0)
		d.earlier.conversation = sent.Of(messages, &d.chain, nil, 0)
	}
	d.earlier.before = d.earlier.conversation.Last()
	rule := p.rules.of(d.api, d.model)
	judged := d.asked.Decoded != nil // false: finding the conversation failed
	d.earlier.checks = d.api != llm.Gemini && (rule.checks || rule.mayCheck && handsOn(d.request) || judged && p.cache.Checks(&d.asked))
	if !d.earlier.checks {
		return
	}
	err := p.ask(x, func(ctx context.Context) (err error) {
		d.earlier.known, err = p.forms.Find(ctx, d.earlier.conversation)
		return err
	})
	if err != nil {
		p.writer.fellSilent()
		d.earlier.unsure = true
	}
	// A client may leave its thinking out of some requests and send it again later.
	d.earlier.bound = d.earlier.likeliest().Bound || hasThinking(d.request)
	d.asked.Bound = d.earlier.bound
	d.earlier.formless = judged && len(d.earlier.known) == 0 && p.cache.Known(&d.asked)
}

// choose decides how the request goes on from what was sent before, after the verdict on the cache. memory has what was sent.
func (p *Proxy) choose(x *exchange, d *reading, memory *sent.Memory) {
	f := &d.earlier
	f.begin = begin{}
	if f.conversation == nil {
		return
	}
	if f.bound {
		f.begin = begin{Known: f.likeliest(), upto: f.before}
		// Another process may have sent the later messages by the same rules. If it did while the store was silent, its rows come late.
		if len(f.known) > 0 && (f.unsure || p.writer.silentSince(f.begin.Time)) || f.formless {
			f.begin.upto = f.begin.Messages
		}
		return
	}
	if p.policy == trim.KeepLatest && (!p.unchanged || memory == p.shadow) {
		return // it plans everything anew
	}
	key := d.verdict.Key()
	if f.checks {
		key = sent.AnyKey
	}
	alive := func(k sent.Known) bool { return !d.verdict.Gone(k.Time, d.asked.Time) }
	err := p.ask(x, func(ctx context.Context) error { return memory.LookUp(ctx, f.conversation, d.verdict.New != "") })
	found := memory.Under(f.conversation, key)
	if d.verdict.New != "" && slices.ContainsFunc(found, func(k sent.Known) bool { return k.News && alive(k) }) {
		d.verdict = d.verdict.Continued() // another process has sent the conversation meanwhile
	}
	if len(found) == 0 {
		found = memory.Under(f.conversation, sent.AnyKey)
		found = found[:min(len(found), 1)]
	}
	if err != nil || f.unsure {
		d.verdict = d.verdict.Continued()
	}
	if len(found) == 0 {
		f.begin.whole = d.verdict.New != ""
		return
	}
	f.begin = begin{Known: found[0], upto: found[0].Messages, whole: d.verdict.New != ""}
	if f.begin.whole || !evicts(p.policy) {
		return
	}
	if !alive(found[0]) {
		if i := slices.IndexFunc(found, alive); i > 0 && found[i].Form.Epoch() != found[0].Form.Epoch() && !(found[0].Loaded && p.alike(d, found[0], found[i])) { // a fork has sent a common beginning anew
			f.begin = begin{Known: found[i], upto: found[i].Messages, cold: true}
		}
	}
	if f.begin.Messages < f.before && d.verdict.Changed {
		f.begin.cold = true // the client has changed a message
	}
	f.begin.cold = f.begin.cold && !x.body.continues() && !x.compacts
	p.further(d)
}

// alike reports whether what is known of b was sent in the same way as the beginning of a.
func (p *Proxy) alike(d *reading, a, b sent.Known) bool {
	long, _, err := p.forms.Edits(a.Form, d.earlier.conversation, b.Messages)
	short, _, again := p.forms.Edits(b.Form, d.earlier.conversation, b.Messages)
	return err == nil && again == nil && slices.Equal(long, short)
}

// further adds to the beginning that is known the results after its answer that went out changed, when they were sent with other messages
// after them. Those that went out as they are may be in the provider's cache too.
func (p *Proxy) further(d *reading) {
	b := &d.earlier.begin
	next := b.Messages + 1
	for next < len(d.request.Messages) && d.request.Messages[next].Role != llm.Assistant {
		next++
	}
	b.keep = next
	if b.Form.Empty() || p.recent.goesOn(d) {
		return
	}
	edits, _, err := p.forms.Edits(b.Form, d.earlier.conversation, next)
	if n := len(edits); err == nil && n > 0 && edits[n-1].Message >= b.Messages {
		b.Messages = edits[n-1].Message + 1
		b.upto = b.Messages
	}
}

// repeats reports whether the first messages of a request must go out as they were sent, even on a doubt.
func (d *reading) repeats() bool {
	return d.earlier.conversation != nil && (d.earlier.bound || !d.earlier.begin.Form.Empty())
}

// goesOut records how a request goes upstream. What was planned at a cold point is stored before the request goes out. Where thinking is
// checked, the rows are stored before any byte of the answer is passed on, because the process may end at any time. Others are
// queued: a lost row is made again by the same rules. judged says that there is a verdict.
func (p *Proxy) goesOut(x *exchange, d *reading, judged bool) {
	b, kept := p.formOf(x, d, p.forms)
	decides := judged && !p.unchanged && (d.earlier.begin.whole && evicts(p.policy) || d.earlier.begin.cold)
	if judged {
		x.row.Cache = record.Cache{Gap: d.verdict.Cache.Gap, Lifetime: d.verdict.Cache.Lifetime, Moment: string(d.verdict.New)}
		x.pending = p.cache.Commit(d.asked, d.verdict, d.plan.Seen())
		if !p.unchanged && (decides || d.earlier.checks) {
			b.Turns = x.pending.Turns()
		}
	}
	if decides || d.earlier.checks {
		x.stored = p.store(b, kept)
	} else {
		p.writer.queueUp(b, kept)
	}
	if decides {
		p.writer.wait(x.stored)
	}
	p.keepDropping(x, d.earlier.begin.Known)
}

// likeliest returns the first known form. Without one it returns the zero value: the messages as they came.
func (f *knownEdits) likeliest() (known sent.Known) {
	if len(f.known) > 0 {
		known = f.known[0]
	}
	return known
}

// asSent returns the plan that repeats only the edits with which the messages were sent. It also asks the provider to clear what it
// was asked to clear before.
//
// A client may change what it sent before. Where a pointer names what is certainly gone, its text is whole again: the provider refuses thinking after
// such a change in any case, or does not check it.
func (p *Proxy) asSent(d *reading, known sent.Known) (*trim.Plan, error) {
	plan, err := p.everSent(d, known)
	if err == nil && !known.Same {
		plan = plan.Clone()
		plan.Restore(d.request.Messages)
	}
	return plan, err
}

// everSent is asSent, with all edits. Its plan must not be changed.
func (p *Proxy) everSent(d *reading, known sent.Known) (*trim.Plan, error) {
	if d.earlier.repeated != nil && d.earlier.repeats == known {
		return d.earlier.repeated, nil
	}
	edits, cleared, err := p.forms.Edits(known.Form, d.earlier.conversation, known.Messages)
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
		switch part.Kind {
		case llm.ToolCall:
			before = len(part.Args)
		case llm.Thinking:
			before = trim.ThinkingSize(part)
		}
		plan.Edits = append(plan.Edits, e.Edit)
		o := trim.Omission{
			Message: e.Message, Part: e.Part, CallID: part.CallID, Reason: trim.Reason(e.Reason), Before: before, After: len(e.Text),
		}
		plan.Omissions = append(plan.Omissions, o)
		plan.Saved += o.Text()
	}
	d.earlier.repeated, d.earlier.repeats = plan, known
	return plan, nil
}

// engineOf returns the engine for a request.
func (p *Proxy) engineOf(x *exchange, d *reading) (*trim.Engine, error) {
	return p.engines.of(d.api, d.model, &d.request.Caching, terms{
		checks: d.earlier.checks, kept: x.body.turn != nil, clears: d.clears, thinking: p.rules.of(d.api, d.model).billsThinking,
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

// formOf remembers how a request goes upstream. It returns the rows to be stored, and a function to be called once they are stored; nil: no
// call is needed.
func (p *Proxy) formOf(x *exchange, d *reading, memory *sent.Memory) (b record.Batch, kept func()) {
	c := d.earlier.conversation
	if c == nil || p.policy == trim.KeepLatest && !d.earlier.checks { // it plans everything anew
		return b, nil
	}
	s := p.outgoingOf(x, d, memory == p.shadow)
	p.recent.formed(d, s.Form)
	switch {
	case x.api == record.CountTokens:
		return b, nil
	case memory == p.shadow:
		memory.Note(s, c, x.row.Time)
		x.shadow = s
		return b, nil
	}
	x.outgoing = s
	if d.api != llm.Messages && s.Bound && !s.Form.Empty() { // here no signature in an answer shows this
		p.conversations.count((*Totals).bind)
	}
	if b, kept = memory.Note(s, c, x.row.Time); p.forgets(x) {
		return record.Batch{}, nil
	}
	return b, kept
}

// outgoingOf returns the form in which a request goes upstream: that of its beginning, and the edits of its new messages. shadow: it would
// have gone so.
func (p *Proxy) outgoingOf(x *exchange, d *reading, shadow bool) *sent.Outgoing {
	c, from, plan := d.earlier.conversation, d.earlier.begin, d.plan
	changed := plan != nil && (x.body.patched != nil || d.asks && plan.ClearedCalls > 0 || shadow)
	if !changed {
		plan = new(trim.Plan)
	}
	going := changed || !x.body.continues() // else the provider keeps what it stored, whatever is sent
	epoch := from.whole || from.cold
	anew := false // what was sent is sent otherwise
	before, err := new(trim.Plan), error(nil)
	if going && !epoch {
		if !from.Form.Empty() || d.asks {
			before, err = p.everSent(d, from.Known)
		}
		anew = err != nil || !slices.Equal(editsBefore(plan.Edits, from.upto), before.Edits) || p.forms.Later(from.Form, c, from.upto)
	}
	if epoch || anew {
		from, before = begin{Known: sent.Known{Drops: from.Drops && !from.whole}}, new(trim.Plan)
	}
	added := sent.Added{From: from.upto, Epoch: evicts(p.policy) && (epoch || anew && !d.earlier.bound), Balance: d.balance}
	if going && d.asks && plan.ClearedCalls != before.ClearedCalls {
		added.Cleared = plan.ClearedCalls
	}
	for i, e := range plan.Edits {
		if going && e.Message >= added.From {
			added.Edits = append(added.Edits, sent.Edit{Edit: e, Reason: string(plan.Omissions[i].Reason)})
		}
	}
	s := &sent.Outgoing{Form: from.Form.Extend(c, added), Bound: d.earlier.bound, Drops: from.Drops, From: from.Messages + 1}
	switch {
	case d.earlier.bound && anew: // thinking has left: a fork goes on in the form that the provider's cache holds
		s.From, s.Anew = 1, true
	case d.earlier.bound:
		s.From = len(d.request.Messages)
	case d.earlier.begin.Messages == 0 && s.Form.Epoch() == 0: // the beginning of a conversation that was not seen before is planned again in the same way
		s.From = d.earlier.before
	}
	if !d.earlier.checks {
		s.Key = d.verdict.Key()
	}
	return s
}

// forgets reports whether the form of a request need not be stored: it is sent unchanged, and so are all other requests.
func (p *Proxy) forgets(x *exchange) bool {
	return p.unchanged && x.outgoing.Form.Empty() && !x.outgoing.Drops
}

// store writes rows at once. The channel closes when they are written.
func (p *Proxy) store(b record.Batch, kept func()) <-chan struct{} {
	if p.writer == nil || b.Len() == 0 {
		return nil
	}
	p.work.Add(1) // the request is already counted, so Add does not race with Wait
	return p.writer.writeNow(b, kept, p.work.Done)
}

// sign remembers the signatures in b, a piece of an answer. It does so before the client gets b, because the client can then continue.
func (p *Proxy) sign(x *exchange, b []byte) {
	if x.meter == nil || x.outgoing == nil || x.outgoing.Key != 0 || !bytes.Contains(b, []byte("}")) {
		return
	}
	var rows record.Batch
	for _, signature := range x.meter.Signatures() {
		rows.Places = append(rows.Places, p.forms.Answered(x.outgoing, signature, time.Now())...)
	}
	if len(rows.Places) > 0 && !x.outgoing.Form.Empty() {
		p.conversations.count((*Totals).bind)
	}
	if !p.forgets(x) {
		p.writer.wait(p.store(rows, nil))
	}
}
