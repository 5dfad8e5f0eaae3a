package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

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

// shown returns an error if the person approves a change without having seen all of it. (FILE-6)
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
