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
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/sync/semaphore"

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
		r.out.reading.Store(true)
		m, err := r.in.Next()
		r.out.reading.Store(false)
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

// refuse answers a line that is not passed on. It waits until the client has read the answer.
func (r *lineReader) refuse(id json.RawMessage, code int, why string) {
	message, _ := json.Marshal(why) // a string always can be
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, message)
	_ = r.out.inTurn(context.Background(), func() error { return r.out.write(line) }) // failed returns the error
}

// stuckTime is how long a client may read nothing of an answer while the server reads nothing of the client: limits are reached, or
// a refusal is unread. After that and one step of grace the session ends. While the server still reads, the client has any time: it
// may be stopped for a while.
const stuckTime = time.Minute

// grace is stuckTime after the end of input. It is also how long lines may still be written after Close, or after the context of Serve
// is done.
const grace = 2 * time.Second

// pieceSize is the size of one write, in bytes. The client has to read each piece in time.
const pieceSize = 256 << 10

// errUnread is the error of a session whose client does not read.
var errUnread = errors.New("the client does not read its answers")

// lineWriter writes complete lines to a client, one at a time. A goroutine of its own calls Write of the client's writer, which may
// block for ever.
type lineWriter struct {
	ctx        context.Context // done when nothing more is written
	lose       func()          // ends ctx
	fail       func()          // ends the session; called after an error
	inputEnded <-chan struct{}
	pieces     chan []byte
	taken      chan error // the result of each piece; of capacity 1

	turn    *semaphore.Weighted // held while a line is written: the SDK has a mutex there, and waiting for a mutex cannot be cancelled
	written atomic.Int64        // pieces that the client has read
	reading atomic.Bool         // the server is waiting for input, or reading it

	mu  sync.Mutex
	err error // the first error; after it nothing is written
}

// newLineWriter returns a writer to out. It writes until an error, until lose is called, or until grace after running is done.
// fail ends running.
func newLineWriter(running context.Context, out io.Writer, inputEnded <-chan struct{}, fail func()) *lineWriter {
	w := &lineWriter{fail: fail, inputEnded: inputEnded, pieces: make(chan []byte), taken: make(chan error, 1), turn: semaphore.NewWeighted(1)}
	w.ctx, w.lose = context.WithCancel(context.WithoutCancel(running))
	context.AfterFunc(running, func() { time.AfterFunc(grace, w.lose) })
	go func() {
		for {
			select {
			case p := <-w.pieces:
				_, err := out.Write(p)
				w.taken <- err
			case <-w.ctx.Done():
				return
			}
		}
	}()
	return w
}

// inTurn calls f, which writes a line, when no other line is being written. If ctx is done before that, f is not called.
func (w *lineWriter) inTurn(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	if err := w.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer w.turn.Release(1)
	return f()
}

// write writes a line. The writer owns its bytes from then on. It must be called in turn.
func (w *lineWriter) write(line []byte) error {
	err := w.failed()
	for len(line) > 0 && err == nil {
		n := min(len(line), pieceSize)
		err = w.piece(line[:n])
		line = line[n:]
	}
	if err != nil {
		w.mu.Lock()
		w.err = cmp.Or(w.err, err)
		w.mu.Unlock()
		w.fail()
	}
	return err
}

// piece writes a piece of a line, and waits until the client has read it. It counts the time in steps of grace. So if this process
// was stopped together with the client, the client has one step or more after that.
func (w *lineWriter) piece(p []byte) error {
	select {
	case w.pieces <- p:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	step, quiet, patience, inputEnded := time.NewTimer(grace), time.Duration(0), stuckTime, w.inputEnded
	defer step.Stop()
	for {
		select {
		case err := <-w.taken:
			w.written.Add(1)
			return err
		case <-inputEnded:
			inputEnded, quiet, patience = nil, 0, grace
			step.Reset(grace)
		case <-step.C:
			if quiet += grace; quiet > patience {
				return errUnread
			}
			if w.reading.Load() && inputEnded != nil {
				quiet = 0
			}
			step.Reset(grace)
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// failed returns the first error of the writer; nil: there was none.
func (w *lineWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Write is write for the SDK, which keeps the bytes. So it makes a copy.
func (w *lineWriter) Write(line []byte) (int, error) {
	return len(line), w.write(bytes.Clone(line))
}

// Close implements io.Closer. It does nothing: the owner of the output closes it.
func (w *lineWriter) Close() error { return nil }
