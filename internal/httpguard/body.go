package httpguard

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

// Pause is the usual limit for a pause in a body.
const Pause = 30 * time.Second

// LimitPauses returns next with bodies whose pauses must not exceed wait, without the byte-order mark that they may begin with. A body
// that is slow but continues may take any time. A read that waits longer fails with os.ErrDeadlineExceeded. An error that next answers
// before a body has ended goes out at once.
func LimitPauses(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := NewBody(context.Background(), w, r, wait)
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
	shared  bool        // the connection has other requests too (HTTP/2)
	ended   atomic.Bool // by its end or by an error
	stalled atomic.Bool
	left    atomic.Bool // an error was answered before its end
}

// NewBody returns the body of the request r to w, whose pauses must not exceed wait. A read that waits longer, or that waits when server
// has ended, fails with os.ErrDeadlineExceeded.
func NewBody(server context.Context, w http.ResponseWriter, r *http.Request, wait time.Duration) *Body {
	b := &Body{ReadCloser: r.Body, server: server, conn: http.NewResponseController(w), wait: wait, shared: r.ProtoMajor > 1}
	b.ended.Store(r.Body == nil || r.Body == http.NoBody)
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

// lastReads is how long the rest of a body is read after an error was answered. If the connection ended at once while the client still
// sends, the client might see a broken connection instead of the answer.
const lastReads = 2 * time.Second

// Answer returns the writer for the answer to the body's request. Before an answer, the server of net/http reads up to 256 KB of a body that
// the handler has not read. An error goes out before that, so the client hears of it at once. Then the connection ends.
func (b *Body) Answer(w http.ResponseWriter) http.ResponseWriter { return &answer{w, b} }

type answer struct {
	http.ResponseWriter
	body *Body
}

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && !a.body.ended.Load() {
		deadline := past
		if !a.body.shared {
			a.Header().Set("Connection", "close")
			deadline = time.Now().Add(lastReads)
		}
		a.body.left.Store(true)
		a.body.set(deadline)
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
	if b.left.Load() {
		return
	}
	b.set(time.Now().Add(wait))
	if b.server.Err() != nil { // that deadline may have been set before ours
		b.set(past)
	}
}

func (b *Body) set(deadline time.Time) {
	_ = b.conn.SetReadDeadline(deadline) // a connection without deadlines is not a server's
}
