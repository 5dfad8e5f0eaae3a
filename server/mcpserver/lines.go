package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stet-dev/stet/internal/rpclines"
)

// The lines that a client over stdio writes and reads.

// lineReader is between a client and the SDK's transport. It passes on the lines that the SDK can decode. The SDK would end the
// session at any other line. lineReader answers such a line with an error and continues.
type lineReader struct {
	ctx  context.Context // done when the session must end: then no line is passed on
	in   *rpclines.Reader
	out  *lineWriter
	rest []byte // rest of the lines that are being passed on
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		m, err := r.in.Next()
		refused := (*rpclines.Refusal)(nil)
		switch {
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err()
		case errors.As(err, &refused):
			r.refuse(refused.ID, refused.Code, refused.Why)
			continue
		case err != nil:
			return 0, err
		}
		if why := cmp.Or(oversize(m.Line), undecodable(m)); why != "" {
			if m.ID == nil {
				m.ID = json.RawMessage("null")
			}
			r.refuse(m.ID, rpclines.InvalidRequest, why)
			continue
		}
		r.rest = append(m.Line, '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer. It does nothing: the owner of the input closes it.
func (r *lineReader) Close() error { return nil }

var _ io.ReadCloser = (*lineReader)(nil)

// undecodable says why the SDK cannot handle a message; "": it can. The SDK decodes a number as float64, so it would answer a large
// id with a different id.
func undecodable(m rpclines.Message) string {
	decoded, err := jsonrpc.DecodeMessage(m.Line)
	if err != nil {
		return "this line is no JSON-RPC 2.0 request, notification or response"
	}
	if r, ok := decoded.(*jsonrpc.Request); ok {
		if n, ok := r.ID.Raw().(int64); ok && strconv.FormatInt(n, 10) != string(m.ID) {
			return "an id that is a number has to be exact in 53 bits"
		}
	}
	return ""
}

// refuse answers a line that is not passed on. It may block until the client has read more.
func (r *lineReader) refuse(id json.RawMessage, code int, why string) {
	r.out.waitToRead(r.ctx, func() bool { return r.out.unread < r.out.limits.unread+r.out.limits.waiting })
	message, _ := json.Marshal(why) // a string always can be
	r.out.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, message))
}

// clientLimits limit what the server holds for a client. They are soft limits: the last request or answer may exceed them.
type clientLimits struct {
	unread  int // bytes that the client has not read; answers of running requests may exceed it
	atWork  int // requests that have begun, and are neither answered nor waiting for a person
	waiting int // bytes of requests that are read but have not begun
}

var defaultLimits = clientLimits{unread: 32 << 20, atWork: 64, waiting: 32 << 20}

// requestCost is added to the size of a waiting request, in bytes.
const requestCost = 4 << 10

// stuckTime is how long a client may read nothing while the server reads nothing from it, because limits are reached. Then the
// session ends.
const stuckTime = time.Minute

// grace is how long a client may read nothing at the end of the session, although answers are waiting.
const grace = 2 * time.Second

// pieceSize is the size of one write, in bytes. Progress of the client is measured in pieces.
const pieceSize = 256 << 10

// errUnread is the error of a session whose client does not read.
var errUnread = errors.New("the client does not read its answers")

// lineWriter writes complete lines to a client, in the order of the calls of put. put does not block. lineWriter also counts what
// the server holds for the client: see clientLimits.
type lineWriter struct {
	out    io.Writer
	fail   func() // called once, after the first error
	limits clientLimits

	mu       sync.Mutex
	lines    [][]byte
	unread   int // bytes that the client has not read
	atWork   int
	waiting  int
	writing  bool          // a goroutine is running drain
	progress int           // changes when the client reads something, or when unread becomes more than 0
	err      error         // the first error; after it nothing is written
	changed  chan struct{} // closed at the next change; nil: no goroutine is waiting
}

// put adds a line. The writer owns its bytes from then on.
func (w *lineWriter) put(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if w.unread == 0 {
		w.progress++
	}
	w.lines = append(w.lines, line)
	w.unread += len(line)
	if !w.writing {
		w.writing = true
		go w.drain()
	}
}

// drain writes until no lines are left.
func (w *lineWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) > 0 && w.err == nil {
		line := w.lines[0]
		w.lines[0], w.lines = nil, w.lines[1:]
		w.write(line)
	}
	w.writing = false
	w.wake()
}

// write writes a line in pieces. The caller holds mu. write releases mu while it writes.
func (w *lineWriter) write(line []byte) {
	for len(line) > 0 && w.err == nil {
		part := line[:min(len(line), pieceSize)]
		w.mu.Unlock()
		_, err := w.out.Write(part)
		w.mu.Lock()
		line = line[len(part):]
		w.unread -= len(part)
		w.progress++
		if err != nil {
			w.end(err)
		}
		w.wake()
	}
}

// end sets the error, after which nothing is written. The caller holds mu.
func (w *lineWriter) end(err error) {
	if w.err == nil {
		w.err, w.lines = err, nil
		w.wake()
		w.fail()
	}
}

// wake wakes the goroutines that wait for a change. The caller holds mu.
func (w *lineWriter) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// count calls update with mu held. update changes the counters.
func (w *lineWriter) count(update func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	update()
	w.wake()
}

// wait waits until condition returns true. condition is called with mu held, and may change the counters. The error is that of
// ctx or that of the writer.
func (w *lineWriter) wait(ctx context.Context, condition func() bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case w.err != nil:
			return w.err
		case condition():
			return nil
		}
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		w.mu.Lock()
	}
}

// waitToRead is wait for a goroutine that reads from the client. If the client reads nothing for stuckTime, the session ends.
func (w *lineWriter) waitToRead(ctx context.Context, condition func() bool) {
	for {
		before, _ := w.state()
		limited, cancel := context.WithTimeout(ctx, stuckTime)
		err := w.wait(limited, condition)
		cancel()
		if err == nil || w.failed() != nil || ctx.Err() != nil {
			return
		}
		if now, _ := w.state(); now == before {
			w.giveUp()
			return
		}
	}
}

// hasCapacity reports whether another request may begin. The caller holds mu.
func (w *lineWriter) hasCapacity() bool {
	return w.unread < w.limits.unread && w.atWork < w.limits.atWork
}

// isFull reports whether so many bytes are unread that progress messages are useless for the client.
func (w *lineWriter) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unread >= w.limits.unread
}

// failed returns the error of the writer; nil if it still writes.
func (w *lineWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// state returns the progress of the client, and whether the client has bytes left to read.
func (w *lineWriter) state() (progress int, owed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.progress, w.unread > 0
}

// watch ends the session if the client does not read at the end. After inputEnded is closed, the client may read nothing for the
// time grace at most. After stop is closed, it has the time grace for everything. watch returns when over is closed, or earlier.
func (w *lineWriter) watch(inputEnded, stop, over <-chan struct{}) {
	select {
	case <-inputEnded:
	case <-stop:
	case <-over:
		return
	}
	for stopped := false; ; {
		before, _ := w.state()
		select {
		case <-over:
			return
		case <-stop:
			stopped, stop = true, nil
		case <-time.After(grace):
			if now, owed := w.state(); stopped || owed && now == before {
				w.giveUp()
				return
			}
		}
	}
}

func (w *lineWriter) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(errUnread)
}

// flush waits until the client has read everything, or until the writer has an error.
func (w *lineWriter) flush() {
	_ = w.wait(context.Background(), func() bool { return w.unread == 0 && !w.writing }) // failed returns the error
}

// Write is put for the SDK, which keeps the bytes. So it makes a copy.
func (w *lineWriter) Write(line []byte) (int, error) {
	if err := w.failed(); err != nil {
		return 0, err
	}
	w.put(bytes.Clone(line))
	return len(line), nil
}

// Close implements io.Closer. It does nothing: the owner of the output closes it.
func (w *lineWriter) Close() error { return nil }
