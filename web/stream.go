package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stet-dev/stet/approval"
)

// heartbeat is how often a stream that has nothing to say shows that it is alive.
const heartbeat = 15 * time.Second

// stream is server-sent events on their way to a page.
type stream struct {
	w    http.ResponseWriter
	sent *http.ResponseController
	in   func() bool // whether the reader is still let in; nil: every reader is
}

// errOut ends the stream of a person who is not let in any more.
var errOut = errors.New("no longer let in")

// personStream begins a stream that ends when the person's token does, at its
// next event or sign of life.
func (h *Handler) personStream(w http.ResponseWriter, r *http.Request) (*stream, error) {
	s, err := newStream(w)
	if err == nil {
		c := callerOf(r.Context()).channel
		s.in = func() bool {
			_, ok := h.holds(c.login)
			return ok && h.channels.use(c)
		}
	}
	return s, err
}

func newStream(w http.ResponseWriter) (*stream, error) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold back what we send
	s := &stream{w: w, sent: http.NewResponseController(w)}
	_ = s.sent.SetWriteDeadline(time.Time{}) // of the server's WriteTimeout; a writer without one has none
	_, err := fmt.Fprint(w, ": stet\n\n")
	return s, s.flush(err)
}

func (s *stream) flush(err error) error {
	if err != nil {
		return err
	}
	return s.sent.Flush()
}

// send sends an event. id is its number, 0: it has none.
func (s *stream) send(id uint64, event any) error {
	if s.in != nil && !s.in() {
		return errOut
	}
	data, err := json.Marshal(event) // in one line
	if err != nil {
		return err
	}
	if id > 0 {
		if _, err := fmt.Fprintf(s.w, "id: %d\n", id); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.w, "data: %s\n\n", data)
	return s.flush(err)
}

// alive sends a sign of life.
func (s *stream) alive() error {
	if s.in != nil && !s.in() {
		return errOut
	}
	_, err := fmt.Fprint(s.w, ": alive\n\n")
	return s.flush(err)
}

// follow sends what next returns, until the page has gone or there is no more.
func follow[E any](ctx context.Context, s *stream, next func(context.Context) (E, error), send func(E) error) {
	for {
		waiting, stop := context.WithTimeout(ctx, heartbeat)
		e, err := next(waiting)
		stop()
		switch {
		case err == nil:
			err = send(e)
		case waiting.Err() != nil && ctx.Err() == nil:
			err = s.alive()
		}
		if err != nil {
			return
		}
	}
}

// lookEvery is how often a stream looks whether something was stored.
const lookEvery = time.Second

// events tells what happens to the queue, and that something was stored.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	s, err := h.personStream(w, r)
	if err != nil {
		return nil // it has gone
	}
	snapshot, sub := h.watch()
	defer func() { _ = sub.Close() }()
	n := news{h: h, sub: sub}
	n.stored(r.Context()) // what was stored until now is no news
	if s.send(0, snapshot) != nil {
		return nil
	}
	follow(r.Context(), s, n.next, func(e QueueEvent) error { return s.send(0, e) })
	return nil
}

// news is what a page is told of the queue and of the store.
type news struct {
	h      *Handler
	sub    *approval.Subscription
	look   time.Time // when to look at the store next
	number int64     // of the store, when it was looked at
}

// next waits for the next event.
func (n *news) next(ctx context.Context) (QueueEvent, error) {
	for {
		waiting, stop := context.WithDeadline(ctx, n.look)
		e, err := n.sub.Next(waiting)
		stop()
		switch {
		case err == nil && e.Opened != nil:
			q := briefly(*e.Opened)
			return QueueEvent{Opened: &q}, nil
		case err == nil:
			c := closed(*e.Closed)
			return QueueEvent{Closed: &c}, nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return QueueEvent{}, err
		}
		if n.stored(ctx) {
			return QueueEvent{Stored: true}, nil
		}
	}
}

// stored looks whether something was stored since the last look. If the store cannot
// be looked at, that is logged, and the queue is followed all the same.
func (n *news) stored(ctx context.Context) bool {
	n.look = time.Now().Add(lookEvery)
	if n.h.Changes == nil {
		n.look = n.look.Add(heartbeat) // there is nothing to look at
		return false
	}
	number, err := n.h.Changes(ctx)
	if err != nil {
		if ctx.Err() == nil {
			n.h.log().Warn("look whether something was stored", "err", err)
			n.look = n.look.Add(heartbeat)
		}
		return false
	}
	was := n.number
	n.number = number
	return number != was
}
