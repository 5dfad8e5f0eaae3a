package gateway

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// personSide is a session with a person, through a program.
type personSide struct {
	p    *peer
	stop context.CancelFunc
	seen map[string]int // bytes of the text that were shown, of questions that are paged; for handle
}

func newPersonSide(p *peer) *personSide { return &personSide{p: p, seen: map[string]int{}} }

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

// maxShown is how many bytes of a diff, or of a content to edit, a question has, or a
// page of it.
const maxShown = 4 << 20

func eventOf(e approval.Event) *wire.Approval {
	if e.Closed != nil {
		return &wire.Approval{ID: e.Closed.ID, Closed: &wire.Closing{ID: e.Closed.ID, How: e.Closed.How, By: e.Closed.By}}
	}
	q := questionTo(*e.Opened)
	if len(textOf(*e.Opened)) > maxShown {
		q.Diff, q.Notes = "", append(q.Notes, string(tool.Large), wire.Paged)
	}
	if len(q.Content) > maxShown {
		q.Content, q.Editable = nil, false
	}
	return &wire.Approval{ID: q.ID, CallID: q.CallID, Question: q}
}

// textOf is what a person has to see of a question before approving it.
func textOf(q approval.Question) string {
	if q.Diff == "" {
		return stringOf(q.Content)
	}
	return q.Diff
}

func (s *personSide) handle(f wire.Frame) {
	a, ok := f.(*wire.Approval)
	if !ok || (a.Answer == nil) == (a.Page == nil) {
		s.send(&wire.Error{Code: wire.Malformed, Message: wire.TypeOf(f) + ": a person sends approvals with an answer, or with a page to be shown"})
		return
	}
	reply := &wire.Approval{ID: a.ID}
	if a.Page != nil {
		s.page(a, reply)
		s.send(reply)
		return
	}
	answer := answerOf(a.Answer)
	answer.By, answer.Relayed = s.p.who.Name, false // who it is, is not for the client to say
	err := s.shown(a.ID, answer)
	if err == nil {
		err = s.p.h.config.Queue.Answer(a.ID, answer)
	}
	if err != nil {
		unanswered(reply, err)
	}
	reply.Done = reply.Error == ""
	s.send(reply)
}

// shown is an error where an approval is of a change that the person was not shown all
// of. (FILE-6)
func (s *personSide) shown(id string, a approval.Answer) error {
	q, ok := s.p.h.config.Queue.Find(id)
	if !ok || !a.Approves() {
		return nil // whoever says no has seen enough
	}
	text := textOf(q)
	switch {
	case text == "" && q.Partial():
		return errors.New("this change is too large to be shown here, and so to be approved: decide about it where its host is")
	case len(text) > maxShown && s.seen[id] < len(text):
		return fmt.Errorf("%d of %d bytes of the change were shown: ask for the rest, page by page, before you approve it", s.seen[id], len(text))
	}
	return nil
}

// page answers who asks for a piece of what a question would change.
func (s *personSide) page(a, reply *wire.Approval) {
	q, ok := s.p.h.config.Queue.Find(a.ID)
	if !ok {
		delete(s.seen, a.ID)
		unanswered(reply, fmt.Errorf("question %q: %w", a.ID, approval.ErrUnknown))
		return
	}
	text, from := textOf(q), a.Page.From
	if from < 0 || from > s.seen[a.ID] {
		unanswered(reply, fmt.Errorf("the next page begins at byte %d", s.seen[a.ID]))
		return
	}
	piece := text[from:]
	if len(piece) > maxShown {
		piece = piece[:maxShown]
		for len(piece) > 0 && !utf8.RuneStart(text[from+len(piece)]) {
			piece = piece[:len(piece)-1]
		}
	}
	s.seen[a.ID] = max(s.seen[a.ID], from+len(piece))
	reply.Page = &wire.Page{From: from, Text: piece, Bytes: len(text)}
}

func (s *personSide) send(f wire.Frame) {
	if err := s.p.link.send(f); err != nil {
		s.p.h.log.Debug("not sent", "session", s.p.id, "err", err)
	}
}

func (s *personSide) lost() {}
func (s *personSide) back() {}
func (s *personSide) gone() { s.stop() }
