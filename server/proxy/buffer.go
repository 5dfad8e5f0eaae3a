package proxy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

// This file limits and keeps the memory for bodies.

const (
	uploadsOfAll    = 160 << 20 // bytes of bodies held at once, for all clients together
	uploadsOfClient = 112 << 20 // the same for one client
	uploadStep      = 1 << 20   // bytes reserved at a time for a body of unknown length
	retryAfter      = "2"       // seconds
	standstill      = time.Minute
)

// bodyBudget limits the bytes of the bodies that are held at once.
type bodyBudget struct {
	all     *limits.Budget
	clients *limits.Family
}

// newBodyBudget returns the budget. body is the largest size of one body in bytes.
func newBodyBudget(body int64) bodyBudget {
	return bodyBudget{limits.NewBudget(limits.Process, max(uploadsOfAll, 2*body)), limits.NewFamily(limits.Token, max(uploadsOfClient, body))}
}

var (
	errClientFull = errors.New("this client's requests that are under way are as large together as is allowed")
	errAllFull    = errors.New("the requests that are under way are as large together as is allowed")
)

// take reserves n bytes for a client. release returns them.
func (m *bodyBudget) take(client string, n int64) (release func(), err error) {
	if m.all == nil {
		return func() {}, nil
	}
	ofClient, err := limits.TryAcquire(n, m.clients.Of(client))
	if err != nil {
		return nil, errClientFull
	}
	ofAll, err := limits.TryAcquire(n, m.all)
	if err != nil {
		ofClient()
		return nil, errAllFull
	}
	return func() { ofAll(); ofClient() }, nil
}

// senderOf identifies a client by its IP address and its provider key. Only a hash of the key is kept.
func senderOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	key := sha256.Sum256([]byte(keyOf(r.Header)))
	return fmt.Sprintf("%s %x", host, key[:8])
}

// keyOf returns the provider key that a client sends, in whichever header.
func keyOf(h http.Header) string {
	var keys []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		keys = append(keys, strings.Join(h.Values(name), ","))
	}
	return strings.Join(keys, "\x00")
}

// unread returns the answer for a request whose body could not be read.
func unread(err error) *failure {
	var f *failure
	switch {
	case errors.Is(err, errClientFull):
		f = failed(http.StatusTooManyRequests, "rate_limit_error", "too_large_together", err.Error()+": wait for some of them, then try again")
	case errors.Is(err, errAllFull):
		f = failed(http.StatusServiceUnavailable, "api_error", "too_large_together", err.Error()+": try again soon")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failed(http.StatusRequestTimeout, "timeout_error", "request_timeout", "the request's body stood still for "+standstill.String()+": send it again")
	default:
		return badRequest("the request's body cannot be read: " + err.Error())
	}
	f.retry = retryAfter
	return f
}

// maxPooled is the size in bytes of the largest buffer that is kept for reuse.
const maxPooled = 8 << 20

// buffers keeps memory for bodies between requests. Without it the garbage collector would be busy with large bodies.
type buffers struct{ pool sync.Pool }

// get returns an empty slice with a capacity of size bytes at least.
func (p *buffers) get(size int) []byte {
	if kept, ok := p.pool.Get().(*[]byte); ok {
		if cap(*kept) >= size {
			return (*kept)[:0]
		}
	}
	const page = 16 << 10
	size += size / 8 // the next body of a conversation is a little larger
	return make([]byte, 0, (size+page-1)/page*page)
}

// lease is a buffer with several users. The last user returns it to the pool.
type lease struct {
	b     []byte
	users atomic.Int32
}

// lend returns a lease of b with one user.
func lend(b []byte) *lease {
	l := &lease{b: b}
	l.users.Store(1)
	return l
}

func (l *lease) hold() { l.users.Add(1) }

func (l *lease) drop(p *buffers) {
	if l.users.Add(-1) == 0 {
		p.put(l.b)
	}
}

// put takes back a slice that is no longer in use.
func (p *buffers) put(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		b = b[:0]
		p.pool.Put(&b)
	}
}

// outgoing is a body on its way upstream. The transport may still read it in goroutines that outlive the request.
// After close they read nothing, so the memory can be reused.
type outgoing struct {
	mu     sync.Mutex
	body   []byte
	closed bool
}

// open returns a reader of the whole body.
func (o *outgoing) open() io.ReadCloser { return &outgoingReader{of: o} }

func (o *outgoing) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.body, o.closed = nil, true
}

var errOver = errors.New("the request is over")

// outgoingReader reads an outgoing from its beginning.
type outgoingReader struct {
	of *outgoing
	at int
}

func (r *outgoingReader) Read(b []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.closed {
		return 0, errOver
	}
	if r.at == len(r.of.body) {
		return 0, io.EOF
	}
	n := copy(b, r.of.body[r.at:])
	r.at += n
	return n, nil
}

// Close does nothing: other readers may still need the body.
func (r *outgoingReader) Close() error { return nil }
