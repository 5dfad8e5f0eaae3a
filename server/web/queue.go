package web

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/stet-dev/stet/files/approval"
)

// Content is the text of a question's file, before and after.
type Content struct {
	Before string `json:"before"` // "": not known
	After  string `json:"after"`
}

// QueueEvent is an event of GET /api/events: first a snapshot, then changes. A page that connects again also gets a snapshot first,
// and replaces its state by it. Either Open or one of the other fields is set. The questions have no diff and no content: see
// GET /api/questions/{id}.
type QueueEvent struct {
	Open   []*approval.Question `json:"open,omitzero"`  // all open questions
	Ended  []approval.Closing   `json:"ended,omitzero"` // with Open: the newest ended questions, the oldest first
	Opened *approval.Question   `json:"opened,omitempty"`
	Closed *approval.Closing    `json:"closed,omitempty"`
	Stored bool                 `json:"stored,omitempty"` // data was stored: shown data may be outdated
}

// mostEnded is the number of ended questions in a snapshot.
const mostEnded = 200

func (h *Handler) questions(r *http.Request) (any, error) {
	snapshot, sub := h.watch(r)
	_ = sub.Close()
	return snapshot, nil
}

// decidesNative reports whether a person may see and answer questions about agents' own tools. Whoever edits such a command runs a program as the
// user of this server, so that is for admins alone.
func decidesNative(r *http.Request) bool {
	c := callerOf(r.Context())
	return c.local || c.person.Admin
}

// watch returns a snapshot of the queue, and a subscription that continues it.
func (h *Handler) watch(r *http.Request) (QueueEvent, *approval.Subscription) {
	open, ended, sub := h.Queue.Watch(mostEnded)
	snapshot := QueueEvent{Open: []*approval.Question{}, Ended: []approval.Closing{}}
	for _, q := range open {
		if !q.Native || decidesNative(r) {
			snapshot.Open = append(snapshot.Open, q.Brief())
		}
	}
	for _, c := range ended {
		if !c.Native || decidesNative(r) {
			snapshot.Ended = append(snapshot.Ended, c)
		}
	}
	return snapshot, sub
}

// find returns the open question that a request names.
func (h *Handler) find(r *http.Request) (approval.Question, error) {
	q, err := h.Queue.Find(r.PathValue("id"))
	if err == nil && q.Native && !decidesNative(r) {
		err = fmt.Errorf("question %q: %w", q.ID, approval.ErrUnknown)
	}
	if err != nil {
		err = problem{http.StatusNotFound, err.Error()}
	}
	return q, err
}

func (h *Handler) question(r *http.Request) (any, error) {
	q, err := h.find(r)
	q.Content = nil
	return q, err
}

func (h *Handler) content(r *http.Request) (any, error) {
	q, err := h.find(r)
	if err != nil {
		return nil, err
	}
	before, after, err := q.Texts()
	if err != nil {
		return nil, invalid("%v", err)
	}
	return Content{before, after}, nil
}

func (h *Handler) answer(r *http.Request, a approval.Answer) (any, error) {
	by := who(r.Context())
	if callerOf(r.Context()).local && a.By != "" && a.By != by { // another process of this user names the person on its page
		by += ": " + a.By
	}
	a.By = by
	a.Relayed = false // the page does not choose it
	if _, err := h.find(r); err != nil && !decidesNative(r) {
		return nil, err
	}
	err := h.Queue.Answer(r.PathValue("id"), a)
	if err != nil && !errors.Is(err, approval.ErrAnswered) && !errors.Is(err, approval.ErrUnknown) {
		err = invalid("%v", err)
	}
	return nothing{}, err
}

// press answers a question by a button in a message, whose sender has no login.
func (h *Handler) press(r *http.Request, p approval.Press) (any, error) {
	err := h.Queue.Press(h.secret, r.PathValue("id"), p)
	if errors.Is(err, approval.ErrPress) {
		err = problem{http.StatusForbidden, err.Error()}
	}
	return nothing{}, err
}
