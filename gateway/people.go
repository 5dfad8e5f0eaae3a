package gateway

import (
	"context"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
)

// personSide is a session with a person, through a program.
type personSide struct {
	p    *peer
	stop context.CancelFunc
}

func newPersonSide(p *peer) *personSide { return &personSide{p: p} }

// begin tells the person of the questions that are open, and of what becomes of
// them.
func (s *personSide) begin() error {
	queue := s.p.h.config.Queue
	if queue == nil {
		return &wire.Error{Code: wire.Unsupported, Message: "this gateway has no questions to people"}
	}
	ctx, stop := context.WithCancel(s.p.h.base)
	s.stop = stop
	sub := queue.Subscribe()
	s.p.h.serving.Go(func() {
		defer sub.Close()
		for {
			e, err := sub.Next(ctx)
			if err == nil {
				err = s.p.link.send(eventOf(e))
			}
			if err != nil && ctx.Err() == nil {
				s.p.end(websocket.StatusTryAgainLater, err.Error(), true)
			}
			if err != nil {
				return
			}
		}
	})
	return nil
}

// maxShown is how many bytes of a diff, or a content to edit, go to a person.
const maxShown = 4 << 20

func eventOf(e approval.Event) *wire.Approval {
	if e.Closed != nil {
		return &wire.Approval{ID: e.Closed.ID, Closed: &wire.Closing{ID: e.Closed.ID, How: e.Closed.How, By: e.Closed.By}}
	}
	q := questionTo(*e.Opened)
	if len(q.Diff) > maxShown {
		q.Diff, q.Notes = "", append(q.Notes, "large")
	}
	if len(q.Content) > maxShown {
		q.Content, q.Editable = nil, false
	}
	return &wire.Approval{ID: q.ID, CallID: q.CallID, Question: q}
}

func (s *personSide) handle(f wire.Frame) {
	a, ok := f.(*wire.Approval)
	if !ok || a.Answer == nil {
		s.send(&wire.Error{Code: wire.Malformed, Message: wire.TypeOf(f) + ": a person sends approvals with an answer"})
		return
	}
	reply := &wire.Approval{ID: a.ID}
	answer := answerOf(a.Answer)
	answer.By, answer.Relayed = s.p.who.Name, false // who it is, is not for the client to say
	if err := s.p.h.config.Queue.Answer(a.ID, answer); err != nil {
		unanswered(reply, err)
	}
	reply.Done = reply.Error == ""
	s.send(reply)
}

func (s *personSide) send(f wire.Frame) {
	if err := s.p.link.send(f); err != nil {
		s.p.h.log.Debug("not sent", "session", s.p.id, "err", err)
	}
}

func (s *personSide) lost() {}
func (s *personSide) back() {}
func (s *personSide) gone() { s.stop() }
