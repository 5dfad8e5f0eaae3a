package web

import (
	"net/http"
	"strconv"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// Rewind is the body of POST /api/sessions/{id}/rewind: it takes the session back to its state after that event.
type Rewind struct {
	To uint64 `json:"to"`
}

// Fork is the body of POST /api/sessions/{id}/fork: it begins a new session that continues after that event.
type Fork struct {
	At uint64 `json:"at"` // 0: the newest
}

// Went names the session that continues.
type Went struct {
	Session string `json:"session"`
}

// resumed opens the session of a request.
func (h *Handler) resumed(r *http.Request) (*session.Session, error) {
	return session.Resume(r.Context(), h.Sessions, r.PathValue("id"))
}

func (h *Handler) rewind(r *http.Request, in Rewind) (any, error) {
	s, err := h.resumed(r)
	if err != nil {
		return nil, err
	}
	if last := s.State().Last; in.To == 0 || in.To >= last {
		return nil, invalid("there is nothing after event %d to go back over", in.To)
	}
	if err := s.Rewind(r.Context(), in.To); err != nil {
		return nil, err
	}
	h.log().Info("rewind", "session", s.ID(), "to", in.To, "by", who(r.Context()))
	return Went{s.ID()}, nil
}

func (h *Handler) fork(r *http.Request, in Fork) (any, error) {
	s, err := h.resumed(r)
	if err != nil {
		return nil, err
	}
	if last := s.State().Last; in.At > last {
		return nil, invalid("there is no event %d: the last one is %d", in.At, last)
	}
	fork, err := s.Fork(r.Context(), in.At)
	if err != nil {
		return nil, err
	}
	return Went{fork.ID()}, nil
}

func (h *Handler) compact(r *http.Request) (any, error) {
	next, err := h.Compact(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, problem{http.StatusBadGateway, err.Error()}
	}
	return Went{next}, nil
}

// SessionEvent reports a new event of a session.
type SessionEvent struct {
	Seq     uint64   `json:"seq"`
	Kind    string   `json:"kind"` // of the event; see package session
	Message *Message `json:"message,omitempty"`
}

// live reports whether pages can follow sessions.
func (h *Handler) live() bool {
	_, ok := h.Sessions.(*session.Hub)
	return ok
}

// sessionEvents streams a session's events after the number "after". A page that lost the connection passes its last number.
func (h *Handler) sessionEvents(w http.ResponseWriter, r *http.Request) error {
	if !h.live() {
		return absent("following a session")
	}
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return invalid("after: want the number of an event")
	}
	sub, err := h.Sessions.(*session.Hub).Subscribe(r.Context(), r.PathValue("id"), after)
	if err != nil {
		return err
	}
	defer sub.Close()
	s, err := h.personStream(w, r)
	if err != nil {
		return nil // the page has gone
	}
	follow(r.Context(), s, sub.Next, func(e session.Event) error {
		out := SessionEvent{Seq: e.Seq, Kind: string(e.Kind())}
		if m, ok := e.Body.(session.Message); ok {
			shown := message(e.Seq, llm.Message(m))
			out.Message = &shown
		}
		return s.send(e.Seq, out)
	})
	return nil
}
