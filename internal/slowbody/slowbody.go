// Package slowbody ends HTTP requests whose body stops arriving. A body that is slow but continues may take any time.
package slowbody

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stet-dev/stet/internal/invisible"
)

// Usual is the default limit for a pause in a body.
const Usual = 30 * time.Second

// Limit returns next with bodies whose pauses must not exceed wait, without the byte-order mark that they may begin with. A read that waits longer fails with os.ErrDeadlineExceeded.
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
		next.ServeHTTP(w, own)
		if !b.ended { // the server reads the rest of it
			b.allow(wait)
		}
	})
}

// Body is a request's body with a limit for pauses. One goroutine may read it at a time.
type Body struct {
	io.ReadCloser
	server context.Context
	conn   *http.ResponseController
	wait   time.Duration
	ended  bool // by its end or by an error
}

// New returns the body of a request to w, whose pauses must not exceed wait. A read that waits longer, or that waits when server
// has ended, fails with os.ErrDeadlineExceeded.
func New(server context.Context, w http.ResponseWriter, body io.ReadCloser, wait time.Duration) *Body {
	return &Body{ReadCloser: body, server: server, conn: http.NewResponseController(w), wait: wait}
}

// Read implements io.Reader. At the end of the body it removes the deadline, because the server then reads the connection to detect
// that the client has gone. After an error the deadline stays, so that the server does not wait for the rest.
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

// allow sets the deadline for a read of the connection.
func (b *Body) allow(wait time.Duration) {
	b.set(time.Now().Add(wait))
	if b.server.Err() != nil { // its own deadline may have been set before ours
		b.set(time.Unix(1, 0))
	}
}

func (b *Body) set(deadline time.Time) {
	_ = b.conn.SetReadDeadline(deadline) // a connection without deadlines is not a server's
}
