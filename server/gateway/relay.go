package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Relay is the approver of a host's handler. It tells the gateway when a call begins to wait for a person, so that this time does
// not count, and when it continues. It waits until the gateway has counted the question. Then the question goes to Next, or to the gateway's people. One Relay serves every Host of the
// process. Questions of calls that did not come through a Host go to Next.
type Relay struct {
	Next approval.Approver // nil: the gateway's people decide
}

type taskKey struct{}

// Ask implements approval.Approver.
func (r Relay) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t != nil {
		admitted := t.wait(true)
		defer t.wait(false)
		select {
		case <-admitted:
		case <-ctx.Done(): // also if there are too many questions
			return approval.Answer{}, ctx.Err()
		}
	}
	switch {
	case r.Next != nil:
		return r.Next.Ask(ctx, q)
	case t == nil:
		return approval.Answer{}, approval.ErrNoPerson
	}
	return t.host.ask(ctx, t.id, q)
}

// wait tells the gateway whether the call waits for a person. admitted is closed when a person may be asked.
func (t *task) wait(waiting bool) (admitted <-chan struct{}) {
	ready := make(chan struct{})
	t.host.mu.Lock()
	t.waiting, t.admit = waiting, sync.OnceFunc(func() { close(ready) })
	if !t.host.can[wire.CanAdmit] {
		t.admit()
	}
	t.host.mu.Unlock()
	if waiting {
		t.host.send(&wire.ToolResult{CallID: t.id, NeedsConfirmation: true})
	} else {
		t.host.send(&wire.Progress{CallID: t.id, State: wire.Working})
	}
	return ready
}

// ask asks the gateway's people.
func (h *Host) ask(ctx context.Context, call string, q approval.Question) (approval.Answer, error) {
	h.mu.Lock()
	if !h.can[wire.CanAsk] {
		h.mu.Unlock()
		return approval.Answer{}, approval.ErrNoPerson
	}
	id, answer := newID(), make(chan *wire.Approval, 1)
	h.asked[id] = answer
	h.mu.Unlock()
	q.CallID = call
	question := &wire.Approval{ID: id, CallID: call, Question: &q}
	err := h.gateway.send(question)
	if errors.Is(err, errLarge) && !q.Diff.Empty() { // people see the diff, but cannot edit
		q.Content, q.Editable = nil, false
		err = h.gateway.send(question)
	}
	if errors.Is(err, errLarge) { // people decide on the shortened question
		q.Diff, q.Content, q.Editable = tool.Diff{}, nil, false
		q.Notes = append(slices.Clip(q.Notes), tool.Large)
		err = h.gateway.send(question)
	}
	if err != nil {
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
		return approval.Answer{}, fmt.Errorf("question to the gateway: %w", err)
	}
	select {
	case a := <-answer:
		if a.Answer == nil {
			return approval.Answer{}, why(a)
		}
		return *a.Answer, nil
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
		withdrawn := &wire.Approval{ID: id, CallID: call, Withdrawn: true}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			withdrawn.Code = string(tool.Timeout)
		}
		h.send(withdrawn)
		return approval.Answer{}, ctx.Err()
	}
}
