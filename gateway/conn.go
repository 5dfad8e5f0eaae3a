package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/coder/websocket"
)

// conn carries whole frames between two sides. One goroutine reads and one
// writes at a time; the rest may be called by anybody.
type conn interface {
	read() ([]byte, error) // the bytes are the caller's
	write(frame []byte) error
	ping(ctx context.Context) error // until the other side has answered
	close(code websocket.StatusCode, reason string)
	abort() // reads and writes end at once
}

// socket is a conn over a WebSocket.
type socket struct {
	ws    *websocket.Conn
	whole *whole // what it is over, where frames are written in one piece; may be nil
	hint  int    // of the size of the next frame
}

// maxHint is how much room a frame gets before its size is known, at most.
const maxHint = 128 << 10

var errBinary = errors.New("a binary message: frames are text")

func (s *socket) read() ([]byte, error) {
	kind, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	buf := make([]byte, 0, max(s.hint, 1024))
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 4*cap(buf)), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			s.hint = min(max(len(buf)+len(buf)/8, s.hint/2), maxHint)
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *socket) write(frame []byte) error {
	if s.whole != nil {
		s.whole.hold()
	}
	err := s.ws.Write(context.Background(), websocket.MessageText, frame)
	if s.whole != nil {
		err = errors.Join(err, s.whole.flush())
	}
	return err
}

func (s *socket) ping(ctx context.Context) error { return s.ws.Ping(ctx) }

func (s *socket) close(code websocket.StatusCode, reason string) {
	_ = s.ws.Close(code, reason[:min(len(reason), 120)]) // the other side may be gone
}

func (s *socket) abort() { _ = s.ws.CloseNow() } // likewise

// whole is a network connection that gathers what is written between hold and
// flush, so that a frame is one write: the library masks and writes it in pieces
// of 4 KB.
type whole struct {
	net.Conn
	mu   sync.Mutex
	held bool
	buf  []byte
}

func (w *whole) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// Write implements net.Conn.
func (w *whole) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held && len(w.buf)+len(p) <= maxGathered {
		w.buf = append(w.buf, p...)
		return len(p), nil
	}
	if err := w.out(); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// maxGathered is how many bytes are written at once.
const maxGathered = 256 << 10

func (w *whole) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = false
	return w.out()
}

// out writes what is gathered. The caller holds mu.
func (w *whole) out() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// end is one end of a pipe, a conn in memory.
type end struct {
	in, out chan []byte
	life    *life
}

// life is the end of a pipe's life.
type life struct {
	once sync.Once
	done chan struct{}
	err  error // read after done
}

// pipe returns a connection's two ends. A few frames have room in it.
func pipe() (a, b *end) {
	there, back, o := make(chan []byte, 16), make(chan []byte, 16), &life{done: make(chan struct{})}
	return &end{in: back, out: there, life: o}, &end{in: there, out: back, life: o}
}

func (e *end) read() ([]byte, error) {
	select {
	case b := <-e.in:
		return b, nil
	default:
	}
	select {
	case b := <-e.in:
		return b, nil
	case <-e.life.done:
		return nil, e.life.err
	}
}

func (e *end) write(frame []byte) error {
	select {
	case e.out <- frame: // nobody changes it
		return nil
	case <-e.life.done:
		return e.life.err
	}
}

// ping is answered: both ends are in this process.
func (e *end) ping(context.Context) error { return nil }

func (e *end) close(code websocket.StatusCode, reason string) {
	e.life.once.Do(func() {
		e.life.err = websocket.CloseError{Code: code, Reason: reason}
		close(e.life.done)
	})
}

func (e *end) abort() { e.close(websocket.StatusAbnormalClosure, "aborted") }
