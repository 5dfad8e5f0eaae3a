package proxy

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// maxPooled is the size in bytes of the largest buffer that is kept for reuse.
const maxPooled = 8 << 20

// buffers keeps memory for bodies between requests. Without it the garbage collector would be busy with large bodies.
type buffers struct{ pool sync.Pool }

// get returns an empty slice with room for size bytes at least.
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
