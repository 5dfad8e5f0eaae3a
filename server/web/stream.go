package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stet-dev/stet/files/approval"
)

// heartbeat is how often a stream without events sends a sign of life.
const heartbeat = 15 * time.Second

// stream sends server-sent events to a page.
type stream struct {
	w    http.ResponseWriter
	sent *http.ResponseController
	in   func() bool // whether the reader is still allowed; nil: always
}

// errOut ends the stream of a person without a valid login.
var errOut = errors.New("no longer let in")

// personStream begins a stream that ends when the person's token ends, at its next event or heartbeat.
func (h *Handler) personStream(w http.ResponseWriter, r *http.Request) (*stream, error) {
	s, err := newStream(w)
	if c := callerOf(r.Context()).channel; err == nil && c != nil {
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
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer the stream
	s := &stream{w: w, sent: http.NewResponseController(w)}
	_ = s.sent.SetWriteDeadline(time.Time{}) // removes the server's WriteTimeout; a writer without deadlines needs nothing
	_, err := fmt.Fprint(w, ": stet\n\n")
	return s, s.flush(err)
}

func (s *stream) flush(err error) error {
	if err != nil {
		return err
	}
	return s.sent.Flush()
}

// send sends an event. id is its number; 0: none.
func (s *stream) send(id uint64, event any) error {
	if s.in != nil && !s.in() {
		return errOut
	}
	data, err := json.Marshal(event) // one line
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

// alive sends a heartbeat.
func (s *stream) alive() error {
	if s.in != nil && !s.in() {
		return errOut
	}
	_, err := fmt.Fprint(s.w, ": alive\n\n")
	return s.flush(err)
}

// follow sends the results of next until the page has gone or there are no more.
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

// lookEvery is how often a stream checks whether data was stored.
const lookEvery = time.Second

// events streams the queue's events, and reports that data was stored.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	s, err := h.personStream(w, r)
	if err != nil {
		return nil // the page has gone
	}
	snapshot, sub := h.watch(r)
	defer func() { _ = sub.Close() }()
	n := news{h: h, sub: sub, native: decidesNative(r)}
	n.stored(r.Context()) // data stored until now is not reported
	if s.send(0, snapshot) != nil {
		return nil
	}
	follow(r.Context(), s, n.next, func(e QueueEvent) error { return s.send(0, e) })
	return nil
}

// news has a page's state of the queue and the store.
type news struct {
	h      *Handler
	sub    *approval.Subscription
	look   time.Time // time of the next check of the store
	native bool      // questions about agents' own tools are among the events
	number int64     // the store's number at the last check
}

// next waits for the next event.
func (n *news) next(ctx context.Context) (QueueEvent, error) {
	for {
		waiting, stop := context.WithDeadline(ctx, n.look)
		e, err := n.sub.Next(waiting)
		stop()
		switch {
		case err == nil && !n.native && (e.Opened != nil && e.Opened.Native || e.Closed != nil && e.Closed.Native):
			continue
		case err == nil && e.Opened != nil:
			return QueueEvent{Opened: e.Opened.Brief()}, nil
		case err == nil:
			return QueueEvent{Closed: e.Closed}, nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return QueueEvent{}, err
		}
		if n.stored(ctx) {
			return QueueEvent{Stored: true}, nil
		}
	}
}

// stored reports whether data was stored since the last check. An error of the store is logged, and the queue is still followed.
func (n *news) stored(ctx context.Context) bool {
	n.look = time.Now().Add(lookEvery)
	if n.h.Changes == nil {
		n.look = n.look.Add(heartbeat) // there is no store
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
