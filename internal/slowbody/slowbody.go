// Package slowbody ends HTTP requests whose body stands still. A body that is slow
// but goes on coming may take as long as it needs.
package slowbody

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Usual is how long a body may stand still.
const Usual = 30 * time.Second

// Limit returns next with bodies that must not stand still for longer than wait. A read
// that waits longer fails with os.ErrDeadlineExceeded.
func Limit(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := New(context.Background(), w, r.Body, wait)
		b.allow(wait)
		own := r.WithContext(r.Context())
		own.Body = b
		next.ServeHTTP(w, own)
		if !b.ended { // the server reads what is left of it
			b.allow(wait)
		}
	})
}

// Body is a request's body that must not stand still. Like every body it is read by one
// goroutine at a time.
type Body struct {
	io.ReadCloser
	server context.Context
	conn   *http.ResponseController
	wait   time.Duration
	ended  bool // by its end, or by an error
}

// New returns the body of a request to w that must not stand still for longer than wait. A
// read that waits longer, or that waits when server has ended, fails with os.ErrDeadlineExceeded.
func New(server context.Context, w http.ResponseWriter, body io.ReadCloser, wait time.Duration) *Body {
	return &Body{ReadCloser: body, server: server, conn: http.NewResponseController(w), wait: wait}
}

// Read implements io.Reader. At the end of the body no deadline is left: from then on
// the server reads the connection to learn that the client is gone. After an error it
// stays, so that the server does not wait for the rest.
func (b *Body) Read(p []byte) (int, error) {
	if !b.ended {
		b.allow(b.wait)
	}
	n, err := b.ReadCloser.Read(p)
	if b.ended = b.ended || err != nil; errors.Is(err, io.EOF) {
		b.set(time.Time{})
	}
	return n, err
}

// allow sets how long a read of the connection may wait.
func (b *Body) allow(wait time.Duration) {
	b.set(time.Now().Add(wait))
	if b.server.Err() != nil { // its own deadline may have been set before ours
		b.set(time.Unix(1, 0))
	}
}

func (b *Body) set(deadline time.Time) {
	_ = b.conn.SetReadDeadline(deadline) // a connection without deadlines is no server's
}
