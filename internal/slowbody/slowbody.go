// Package slowbody ends HTTP requests whose body stands still. A body that is slow
// but goes on coming may take as long as it needs.
package slowbody

import (
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
		b := &body{ReadCloser: r.Body, conn: http.NewResponseController(w), wait: wait}
		b.allow(wait)
		own := r.WithContext(r.Context())
		own.Body = b
		next.ServeHTTP(w, own)
		if !b.ended { // the server reads what is left of it
			b.allow(wait)
		}
	})
}

// body is a request's body. Like every body it is read by one goroutine at a time.
type body struct {
	io.ReadCloser
	conn  *http.ResponseController
	wait  time.Duration
	ended bool // by its end, or by an error
}

// Read implements io.Reader. At the end of the body no deadline is left: from then on
// the server reads the connection to learn that the client is gone. After an error it
// stays, so that the server does not wait for the rest.
func (b *body) Read(p []byte) (int, error) {
	if !b.ended {
		b.allow(b.wait)
	}
	n, err := b.ReadCloser.Read(p)
	if b.ended = b.ended || err != nil; errors.Is(err, io.EOF) {
		b.allow(0)
	}
	return n, err
}

// allow sets how long a read of the connection may wait; 0: any time.
func (b *body) allow(wait time.Duration) {
	var until time.Time
	if wait > 0 {
		until = time.Now().Add(wait)
	}
	_ = b.conn.SetReadDeadline(until) // a connection without deadlines is no server's
}
