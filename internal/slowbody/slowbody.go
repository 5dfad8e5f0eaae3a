// Package slowbody ends HTTP requests whose body stops arriving. A body that is slow but continues may take any time.
package slowbody

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/stet-dev/stet/internal/invisible"
)

// Usual is the default limit for a pause in a body.
const Usual = 30 * time.Second

// Limit returns next with bodies whose pauses must not exceed wait, without the byte-order mark that they may begin with. A read that
// waits longer fails with os.ErrDeadlineExceeded. An error that next answers before a body has ended goes out at once.
func Limit(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := New(context.Background(), w, r.Body, wait)
		b.allow(wait)
		own := r.WithContext(r.Context())
		own.Body = struct {
			io.Reader
			io.Closer
		}{invisible.SkipMarkIn(b), b}
		next.ServeHTTP(b.Answer(w), own)
		if !b.ended.Load() { // the server reads the rest of it
			b.allow(wait)
		}
	})
}

// Body is a request's body with a limit for pauses. One goroutine may read it at a time.
type Body struct {
	io.ReadCloser
	server  context.Context
	conn    *http.ResponseController
	wait    time.Duration
	ended   atomic.Bool // by its end or by an error
	stalled atomic.Bool
	left    atomic.Bool // an error was answered before its end
}

// New returns the body of a request to w, whose pauses must not exceed wait. A read that waits longer, or that waits when server
// has ended, fails with os.ErrDeadlineExceeded.
func New(server context.Context, w http.ResponseWriter, body io.ReadCloser, wait time.Duration) *Body {
	b := &Body{ReadCloser: body, server: server, conn: http.NewResponseController(w), wait: wait}
	b.ended.Store(body == nil || body == http.NoBody)
	return b
}

// Read implements io.Reader. At the end of the body it removes the deadline, because the server then reads the connection to detect
// that the client has gone. After an error the deadline stays, so that the server does not wait for the rest.
func (b *Body) Read(p []byte) (int, error) {
	if !b.ended.Load() {
		b.allow(b.wait)
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	switch {
	case errors.Is(err, io.EOF):
		b.set(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded) && !b.left.Load():
		b.stalled.Store(true)
	}
	return n, err
}

// Stalled reports whether a read has waited too long.
func (b *Body) Stalled() bool { return b != nil && b.stalled.Load() }

// Answer returns the writer for the answer to the body's request. Before an answer, the server of net/http reads up to 256 KB of a body that
// the handler has not read. For an error it reads nothing more, so the client hears of it at once, and the connection ends.
func (b *Body) Answer(w http.ResponseWriter) http.ResponseWriter { return &answer{w, b} }

type answer struct {
	http.ResponseWriter
	body *Body
}

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && !a.body.ended.Load() {
		a.body.left.Store(true)
		a.body.set(past)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() } // some writers cannot

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// past is a deadline that is over.
var past = time.Unix(1, 0)

// allow sets the deadline for a read of the connection.
func (b *Body) allow(wait time.Duration) {
	b.set(time.Now().Add(wait))
	if b.server.Err() != nil || b.left.Load() { // that deadline may have been set before ours
		b.set(past)
	}
}

func (b *Body) set(deadline time.Time) {
	_ = b.conn.SetReadDeadline(deadline) // a connection without deadlines is not a server's
}
