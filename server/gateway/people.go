package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Questions to the gateway's people: hosts ask them, and persons who are connected over a WebSocket are shown them and answer.

// personPeer is the hub's side of a person's session. The person's program shows questions and sends answers.
type personPeer struct {
	*hubSession
	stop context.CancelFunc
	seen map[string]int // shown bytes of each paged question's text; used by handle
}

func newPersonPeer(s *hubSession) *personPeer {
	return &personPeer{hubSession: s, seen: map[string]int{}}
}

// begin tells the person about the open questions, and later about their changes.
func (p *personPeer) begin() error {
	questions := p.h.config.Queue
	if questions == nil {
		return &wire.Error{Code: wire.Unsupported, Message: "this gateway has no questions to people"}
	}
	ctx, stop := context.WithCancel(p.h.base)
	p.stop = stop
	sub := questions.Subscribe()
	p.h.serving.Go(func() {
		defer sub.Close()
		for {
			e, err := sub.Next(ctx)
			if err == nil {
				err = p.send(eventOf(e))
			}
			if err != nil && ctx.Err() == nil {
				p.end(websocket.StatusTryAgainLater, err.Error())
			}
			if err != nil {
				return
			}
		}
	})
	return nil
}

// maxShown is the limit, in bytes, of a diff or an editable content in a question or in a page of it.
const maxShown = 4 << 20

func eventOf(e approval.Event) *wire.Approval {
	if e.Closed != nil {
		return &wire.Approval{ID: e.Closed.ID, Closed: e.Closed}
	}
	q := *e.Opened
	if len(q.Diff.Text()) > maxShown {
		q.Diff, q.Notes = tool.Diff{}, append(slices.Clip(q.Notes), tool.Large, wire.Paged)
	}
	if len(q.Content) > maxShown {
		q.Content, q.Editable = nil, false
	}
	return &wire.Approval{ID: q.ID, CallID: q.CallID, Question: &q}
}

func (p *personPeer) handle(f wire.Frame) {
	a, ok := f.(*wire.Approval)
	if !ok || (a.Answer == nil) == (a.Page == nil) {
		p.complain(wire.TypeOf(f)+": a person sends approvals with an answer, or with a page to be shown", "")
		return
	}
	reply := &wire.Approval{ID: a.ID}
	if a.Page != nil {
		p.page(a, reply)
		p.tell(reply)
		return
	}
	answer := *a.Answer
	answer.By, answer.Relayed = p.who.Name, false // the client does not choose these
	err := p.shown(a.ID, answer)
	if err == nil {
		err = p.h.config.Queue.Answer(a.ID, answer)
	}
	if err != nil {
		unanswered(reply, err)
	}
	reply.Done = reply.Error == ""
	p.tell(reply)
}

// shown returns an error if the person approves a change without having seen all of it.
func (p *personPeer) shown(id string, a approval.Answer) error {
	q, err := p.h.config.Queue.Find(id)
	if err != nil || !a.Approves() {
		return nil // a refusal does not need the whole text
	}
	text := q.Diff.Text()
	switch {
	case text == "" && q.Partial():
		return errors.New("this change is too large to be shown and approved here: decide about it where its host is")
	case len(text) > maxShown && p.seen[id] < len(text):
		return fmt.Errorf("%d of %d bytes of the change were shown: ask for the rest, page by page, before you approve it", p.seen[id], len(text))
	}
	return nil
}

// page answers a request for a piece of a question's change.
func (p *personPeer) page(a, reply *wire.Approval) {
	q, err := p.h.config.Queue.Find(a.ID)
	if err != nil {
		delete(p.seen, a.ID)
		unanswered(reply, err)
		return
	}
	text, from := q.Diff.Text(), a.Page.From
	if from < 0 || from > p.seen[a.ID] {
		unanswered(reply, fmt.Errorf("the next page begins at byte %d", p.seen[a.ID]))
		return
	}
	piece := text[from:]
	if len(piece) > maxShown {
		piece = piece[:maxShown]
		for len(piece) > 0 && !utf8.RuneStart(text[from+len(piece)]) {
			piece = piece[:len(piece)-1]
		}
	}
	p.seen[a.ID] = max(p.seen[a.ID], from+len(piece))
	reply.Page = &wire.Page{From: from, Text: piece, Bytes: len(text)}
}

func (p *personPeer) disconnected() {}
func (p *personPeer) resumed()      {}
func (p *personPeer) ended()        { p.stop() }

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
