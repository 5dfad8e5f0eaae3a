package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// connection carries whole frames between a client and a hub. One goroutine reads and one writes at a time. The other methods may
// be called concurrently.
type connection interface {
	read() ([]byte, error)        // the caller owns the bytes
	limit(bytes int)              // of a frame that is read
	frameBytes() (release func()) // the capacity of the frame that was read last, to give back; nil: none
	write(wire.Encoded) error
	ping(ctx context.Context) error // waits for the answer of the other end
	close(code websocket.StatusCode, reason string)
	abort() // ends reads and writes immediately
}

// socket is a connection over a WebSocket.
type socket struct {
	ws      *websocket.Conn
	conn    net.Conn // below ws; nil at a client
	buffers *buffers
	// capacity takes memory for more bytes of a frame that is read; the error ends the connection. nil: there is always capacity.
	capacity func() (release func(), err error)
	held     func() // gives back the capacity of the frame that was read last
}

// buffers is a pool of buffers for reading frames. Its zero value is ready to use.
type buffers struct{ pool sync.Pool }

// largeBuffer is the size in bytes above which a buffer is not reused.
const largeBuffer = 256 << 10

func (b *buffers) get() *bytes.Buffer {
	if buf, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buf
	}
	return bytes.NewBuffer(make([]byte, 0, 4<<10))
}

func (b *buffers) put(buf *bytes.Buffer) {
	if buf.Cap() <= largeBuffer {
		buf.Reset()
		b.pool.Put(buf)
	}
}

// Errors of messages that are not frames.
var (
	errBinary = errors.New("a binary message: send frames as text messages")
	errUTF8   = errors.New("a text message that is not UTF-8")
)

func (s *socket) read() ([]byte, error) {
	b, err := s.readMessage()
	if err != nil && s.conn != nil {
		s.refuse(err)
	}
	return b, err
}

func (s *socket) readMessage() ([]byte, error) {
	kind, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	frame := &countedReader{Reader: r, of: s, left: smallAnswer}
	if s.capacity != nil {
		r = frame
	}
	if _, err := buf.ReadFrom(r); err != nil {
		frame.free()
		return nil, err
	}
	if !utf8.Valid(buf.Bytes()) {
		frame.free()
		return nil, errUTF8
	}
	if s.held = nil; len(frame.held) > 0 {
		s.held = sync.OnceFunc(frame.free)
	}
	return bytes.Clone(buf.Bytes()), nil
}

// lastReads is how long a connection is read after its close frame was sent. If it were closed at once while the client still sends,
// the client might not get the close frame.
const lastReads = 2 * time.Second

// refuse closes a connection whose client has not followed the WebSocket protocol, with the reason. For some errors the library has
// sent the close frame already; then this one is not sent.
func (s *socket) refuse(err error) {
	var lost net.Error
	status := websocket.StatusProtocolError
	switch {
	case errors.Is(err, errBinary):
		status = websocket.StatusUnsupportedData
	case errors.Is(err, errUTF8):
		status = websocket.StatusInvalidFramePayloadData
	case websocket.CloseStatus(err) >= 0, errors.As(err, &lost), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return // it is closed or lost
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(lastReads)) // if this fails, the connection is lost
	s.close(status, err.Error())
}

func (s *socket) frameBytes() (release func()) { return s.held }

func (s *socket) limit(bytes int) { s.ws.SetReadLimit(int64(bytes)) }

// countedReader reads a frame. It takes capacity for its bytes before it reads them, except for a small frame. A frame that stops arriving ends
// the connection.
type countedReader struct {
	io.Reader
	of   *socket
	left int // bytes that may be read
	held []func()
}

const readStep = 1 << 20

func (r *countedReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		release, err := r.of.capacity()
		if err != nil {
			r.of.close(websocket.StatusTryAgainLater, err.Error())
			return 0, err
		}
		r.left, r.held = readStep, append(r.held, release)
	}
	late := time.AfterFunc(httpguard.Pause, r.of.abort)
	defer late.Stop()
	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

func (r *countedReader) free() {
	for _, release := range r.held {
		release()
	}
}

// maxJoined is the size in bytes up to which a frame is copied into one buffer before it is written. A larger frame is written
// piece by piece.
const maxJoined = 64 << 10

func (s *socket) write(frame wire.Encoded) error {
	ctx := context.Background()
	if frame.Size() <= maxJoined || len(frame.Body) == 0 {
		return s.ws.Write(ctx, websocket.MessageText, frame.Bytes())
	}
	w, err := s.ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for _, piece := range [][]byte{frame.Head, frame.Body, frame.Tail} {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Close()
}

func (s *socket) ping(ctx context.Context) error { return s.ws.Ping(ctx) }

func (s *socket) close(code websocket.StatusCode, reason string) {
	_ = s.ws.Close(code, reason[:min(len(reason), 120)]) // the connection may be lost
}

func (s *socket) abort() { _ = s.ws.CloseNow() } // the connection may be lost

// pipeEnd is one end of a connection in memory.
type pipeEnd struct {
	in, out chan []byte
	pipe    *pipeState
}

// pipeState is shared by both ends of the connection.
type pipeState struct {
	once sync.Once
	done chan struct{} // closed when the connection is closed
	err  error         // the reason; valid after done
}

// newPipe returns the two ends of a connection. It buffers a few frames.
func newPipe() (a, b *pipeEnd) {
	there, back, state := make(chan []byte, 16), make(chan []byte, 16), &pipeState{done: make(chan struct{})}
	return &pipeEnd{in: back, out: there, pipe: state}, &pipeEnd{in: there, out: back, pipe: state}
}

// read also returns frames that were written before the connection was closed.
func (e *pipeEnd) read() ([]byte, error) {
	select {
	case b := <-e.in:
		return b, nil
	default:
	}
	select {
	case b := <-e.in:
		return b, nil
	case <-e.pipe.done:
		return nil, e.pipe.err
	}
}

func (e *pipeEnd) write(frame wire.Encoded) error {
	select {
	case e.out <- frame.Bytes(): // neither end changes the bytes
		return nil
	case <-e.pipe.done:
		return e.pipe.err
	}
}

// limit and frameBytes do nothing: both ends are this program.
func (e *pipeEnd) limit(int) {}

func (e *pipeEnd) frameBytes() func() { return nil }

// ping returns at once: both ends are in this process.
func (e *pipeEnd) ping(context.Context) error { return nil }

func (e *pipeEnd) close(code websocket.StatusCode, reason string) {
	e.pipe.once.Do(func() {
		e.pipe.err = websocket.CloseError{Code: code, Reason: reason}
		close(e.pipe.done)
	})
}

func (e *pipeEnd) abort() { e.close(websocket.StatusAbnormalClosure, "aborted") }

// Join runs a host in this process until ctx ends. The host has no token.
func (h *Hub) Join(ctx context.Context, host *Host) error {
	return host.run(ctx, func(context.Context) (connection, error) {
		here, there := newPipe()
		if !h.enterConnection() {
			return nil, errClosed
		}
		h.serving.Go(func() {
			defer h.leaveConnection()
			who := Identity{Name: "this process", Scopes: []string{wire.Host}}
			_ = h.serve(h.base, there, who) // the host also receives the reason
			there.close(websocket.StatusGoingAway, "closed")
		})
		return here, nil
	})
}
