package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Questions of hosts to the gateway's people, who answer on the page.

// approval handles a host's question to the gateway's people, or its withdrawal.
func (p *hostPeer) approval(f *wire.Approval) {
	questions := p.h.config.Queue
	switch {
	case f.Withdrawn:
		p.mu.Lock()
		a, open := p.asking[f.ID]
		p.mu.Unlock()
		if open {
			a.withdraw(whyWithdrawn(f.Code))
		}
	case f.Question == nil:
		p.complain("approval: a host asks a question, or withdraws it", f.CallID)
	case questions == nil:
		p.tell(unanswered(&wire.Approval{ID: f.ID, CallID: f.CallID}, approval.ErrNoPerson))
	default:
		p.beginAsking(questions, f)
	}
}

// beginAsking asks a question in the background, if its call is running and may ask.
func (p *hostPeer) beginAsking(questions *approval.Queue, f *wire.Approval) {
	ctx, cancel := context.WithCancelCause(p.h.base)
	patience, known := longest, f.CallID == ""
	if f.Question.Expires.IsZero() {
		patience = usualApproval
	}
	p.mu.Lock()
	if r := p.routes[f.CallID]; r != nil && !r.over {
		patience, known = r.patience, true
	}
	if known {
		p.asking[f.ID] = asking{f.CallID, cancel}
	}
	p.mu.Unlock()
	if !known {
		cancel(nil)
		p.tell(&wire.Approval{ID: f.ID, CallID: f.CallID, Error: "the call is over or unknown: no person is asked", Code: string(tool.Cancelled)})
		return
	}
	p.h.serving.Go(func() {
		defer cancel(nil)
		p.ask(ctx, questions, f, patience)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asking, f.ID)
	})
}

// askNoMore withdraws the questions of a call that its host is asked to end, and lets it ask no further ones.
func (p *hostPeer) askNoMore(f *wire.Cancel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.routes[f.CallID]; r != nil {
		r.over = true
	}
	for _, a := range p.asking {
		if a.call == f.CallID {
			a.withdraw(whyWithdrawn(f.Reason))
		}
	}
}

// whyWithdrawn returns the cause for withdrawing a question, from the code or the reason in a frame.
func whyWithdrawn(code string) error {
	if code == string(tool.Timeout) {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// asOf sets when a question was asked here and when it expires, after patience at most. Clocks of other machines may differ, so the
// waiting time in the question counts, not its deadline. The context ends when the question expires.
func asOf(ctx context.Context, q *approval.Question, patience time.Duration) (context.Context, context.CancelFunc) {
	if !q.Expires.IsZero() {
		patience = min(q.Expires.Sub(q.Asked), patience)
	}
	q.Asked = time.Now()
	q.Expires = q.Asked.Add(patience)
	return context.WithDeadline(ctx, q.Expires)
}

// ask waits for a person's answer, for the time patience at most.
func (p *hostPeer) ask(ctx context.Context, questions *approval.Queue, f *wire.Approval, patience time.Duration) {
	q := *f.Question
	q.Root = root(p.workspace())
	q.Client = fmt.Sprintf("%s (workspace %s)", q.Client, p.workspace())
	asking, cancel := asOf(ctx, &q, patience)
	defer cancel()
	a, err := questions.Ask(asking, q)
	if err != nil && asking.Err() != nil {
		err = context.Cause(asking)
	}
	if errors.Is(err, context.Canceled) {
		return // the question was withdrawn, or the host is lost
	}
	reply := &wire.Approval{ID: f.ID, CallID: f.CallID}
	if err != nil {
		unanswered(reply, err)
	} else {
		reply.Answer = &a
	}
	p.h.decided(p.workspace(), q, a, err)
	p.tell(reply)
}

// unanswered sets in a reply why there is no valid answer.
func unanswered(reply *wire.Approval, err error) *wire.Approval {
	code := tool.InvalidArgument // the answer does not fit its question
	for _, u := range whyUnanswered {
		if errors.Is(err, u.err) {
			code = u.code
		}
	}
	reply.Error, reply.Code = err.Error(), string(code)
	return reply
}

// whyUnanswered has the code for each error of a question or an answer.
var whyUnanswered = []struct {
	err  error
	code tool.Code
}{
	{context.DeadlineExceeded, tool.Timeout},
	{approval.ErrNoPerson, tool.PermissionDenied},
	{approval.ErrFull, tool.RateLimited},
	{approval.ErrUnknown, tool.InvalidArgument},
	{approval.ErrAnswered, tool.ConcurrentModification},
}

// why returns the error of a reply without an answer.
func why(reply *wire.Approval) error {
	for _, u := range whyUnanswered {
		if reply.Code == string(u.code) {
			return fmt.Errorf("gateway: %w", u.err)
		}
	}
	return errors.New("gateway: " + reply.Error)
}

// decided records in the audit trail the decision about a host's question, and the person who made it.
func (h *Hub) decided(workspace string, q approval.Question, a approval.Answer, err error) {
	e := record.Entry{
		Kind: record.Call, Time: time.Now(), Root: root(workspace), Session: q.Session, Client: q.Client, CallID: q.CallID,
		Tool: q.Tool, Path: q.Path, Before: q.Before, Bytes: q.Size, Outcome: record.OK,
		Decision: "answer " + string(a.Verdict), By: "person " + a.By,
	}
	for _, n := range q.Notes {
		e.Flags = append(e.Flags, string(n))
	}
	if err != nil {
		e.Decision, e.By, e.Outcome = "no answer", "gateway", record.Broke
		if errors.Is(err, context.DeadlineExceeded) {
			e.Outcome = string(tool.Timeout)
		}
	}
	if err := h.config.Journal.Later(e); err != nil {
		h.log.Error("audit trail", "err", err)
	}
}
