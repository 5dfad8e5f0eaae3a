package gateway

import (
	"context"
	"errors"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
)

// Relay is the approver of a host's handler. It tells the gateway that a call
// waits for a person, whose time does not count, and when it goes on; the
// question goes to Next, or to the gateway's people. It serves every Host of the
// process, and lets the questions of calls that came another way through to Next.
type Relay struct {
	Next approval.Approver // nil: the gateway's people decide
}

type taskKey struct{}

// Ask implements approval.Approver.
func (r Relay) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t != nil {
		t.wait(true)
		defer t.wait(false)
	}
	switch {
	case r.Next != nil:
		return r.Next.Ask(ctx, q)
	case t == nil:
		return approval.Answer{}, approval.ErrNobody
	}
	return t.host.ask(ctx, t.id, q)
}

// wait tells the gateway whether the call waits for a person.
func (t *task) wait(waiting bool) {
	t.host.mu.Lock()
	t.waiting = waiting
	t.host.mu.Unlock()
	if waiting {
		t.host.send(&wire.ToolResult{CallID: t.id, NeedsConfirmation: true})
	} else {
		t.host.send(&wire.Progress{CallID: t.id, State: wire.Working})
	}
}

// ask has the gateway's people decide.
func (h *Host) ask(ctx context.Context, call string, q approval.Question) (approval.Answer, error) {
	h.mu.Lock()
	if !h.can[wire.CanAsk] {
		h.mu.Unlock()
		return approval.Answer{}, approval.ErrNobody
	}
	id, answer := newID(), make(chan *wire.Approval, 1)
	h.asked[id] = answer
	h.mu.Unlock()
	q.CallID = call
	h.send(&wire.Approval{ID: id, CallID: call, Question: questionTo(q)})
	select {
	case a := <-answer:
		switch {
		case a.Answer != nil:
			return answerOf(a.Answer), nil
		case a.Error == approval.ErrNobody.Error():
			return approval.Answer{}, approval.ErrNobody
		case a.Error == approval.ErrFull.Error():
			return approval.Answer{}, approval.ErrFull
		}
		return approval.Answer{}, errors.New("gateway: " + a.Error)
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
		h.send(&wire.Approval{ID: id, CallID: call, Withdrawn: true})
		return approval.Answer{}, ctx.Err()
	}
}
