package connect

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of what is read of a body after its answer.
const (
	maxRest  = 64 << 20 // bytes
	restGap  = 250 * time.Millisecond
	restTime = 30 * time.Second
)

// body is the body of a request on an opened connection, which may be read by several at once: a transport may go on reading after the answer.
//
// It knows its end. An HTTP/1.1 server closes a body when its answer begins; a transport that still reads it then, only to see its end, would
// take that for a failed request, and break the answer off.
type body struct {
	io.ReadCloser
	answer *http.ResponseController // nil over HTTP/1.1

	mu    sync.Mutex
	left  int64 // bytes; negative: it is not known how many
	began atomic.Bool
	over  atomic.Bool // the answer is complete
}

type bodyKey struct{}

func (b *body) Read(p []byte) (int, error) {
	b.began.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

// read reads under the lock.
func (b *body) read(p []byte) (n int, err error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err = b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if b.left == 0 || err == io.EOF {
		b.left, err = 0, io.EOF
	}
	return n, err
}

// rest reads what the client still sends after a complete answer. Otherwise the server would reset the stream, and some clients that are still
// sending lose the answer then. A body that nobody has read is left: its client may wait to be asked for it. An HTTP/1.1 server does the like
// itself.
func (b *body) rest() {
	if b.answer == nil || !b.began.Load() {
		return
	}
	b.over.Store(true)
	_ = b.answer.Flush() // a client that is gone sends nothing
	end := time.Now().Add(restTime)
	for n, p := 0, make([]byte, 32<<10); n < maxRest && time.Now().Before(end); {
		_ = b.answer.SetReadDeadline(time.Now().Add(restGap)) // it also ends a Read that holds the lock
		b.mu.Lock()
		k, err := b.read(p)
		b.mu.Unlock()
		if err != nil {
			return
		}
		n += k
	}
}

// answered is the body of an answer. At its end the request's body is of no use any more; a transport that waits for more of it could not be
// closed.
type answered struct {
	io.ReadCloser
	to *body
}

func (a *answered) Close() error {
	a.to.rest()
	return a.ReadCloser.Close()
}
