package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// socket is a conn over a WebSocket.
type socket struct {
	ws   *websocket.Conn
	tap  *tap // below ws
	pads *pads
	pad  []byte // what was read last is in it
}

var errBinary = errors.New("a binary message: frames are text")

func (s *socket) read() ([]byte, error) {
	s.pads.put(s.pad)
	s.pad = nil
	kind, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	buf := s.pads.get(smallPad)
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 4*cap(buf)), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			s.pad = buf
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *socket) write(frame wire.Encoded) error {
	s.tap.hold(s.pads.get(min(frame.Size()+smallPad/8, maxHeld)))
	err := s.message(frame)
	pad, late := s.tap.release()
	s.pads.put(pad)
	return errors.Join(err, late)
}

// message writes a frame: a small one put together, a large one piece by piece.
func (s *socket) message(frame wire.Encoded) error {
	ctx := context.Background()
	if frame.Size() <= maxCopied {
		b := frame.AppendTo(s.pads.get(frame.Size()))
		defer s.pads.put(b)
		return s.ws.Write(ctx, websocket.MessageText, b)
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
	_ = s.ws.Close(code, reason[:min(len(reason), 120)]) // the other side may be gone
}

func (s *socket) abort() { _ = s.ws.CloseNow() } // likewise

// pads are buffers for frames, which are used again. The zero pads is ready.
type pads struct{ pool sync.Pool }

// Sizes of pads, in bytes.
const (
	smallPad = 4 << 10
	largePad = 256 << 10 // larger ones are not kept
)

// get returns an empty buffer with room for size bytes.
func (p *pads) get(size int) []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		if cap(*b) >= size {
			return (*b)[:0]
		}
		p.pool.Put(b)
	}
	return make([]byte, 0, max(size, smallPad))
}

// put takes a buffer back, which nobody uses any more.
func (p *pads) put(b []byte) {
	if 0 < cap(b) && cap(b) <= largePad {
		p.pool.Put(&b)
	}
}

// tap is the writer below a WebSocket. The library writes a large frame in pieces
// of 4 KB; what it writes of one message goes out in one, or few.
type tap struct {
	w io.Writer

	mu      sync.Mutex
	holding bool
	held    []byte // while holding
}

const (
	maxHeld   = largePad // bytes that are gathered for one write
	maxCopied = 16 << 10 // bytes of a piece that is copied rather than written as it is
)

// Write implements io.Writer.
func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.holding:
		return t.w.Write(b)
	case len(b) > maxCopied || len(t.held)+len(b) > cap(t.held):
		pieces := net.Buffers{t.held, b}
		t.held = t.held[:0]
		if _, err := pieces.WriteTo(t.w); err != nil {
			return 0, err
		}
	default:
		t.held = append(t.held, b...)
	}
	return len(b), nil
}

// hold gathers what is written until release, in buf, which is empty.
func (t *tap) hold(buf []byte) {
	t.mu.Lock()
	t.holding, t.held = true, buf
	t.mu.Unlock()
}

// release writes what was gathered, and gives the buffer back.
func (t *tap) release() (buf []byte, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	buf, t.holding, t.held = t.held, false, nil
	if len(buf) > 0 {
		_, err = t.w.Write(buf)
	}
	return buf, err
}

// upgraded is the writer of a response whose connection becomes a WebSocket.
type upgraded struct {
	http.ResponseWriter
	tap *tap // once that is so
}

// Hijack implements http.Hijacker.
func (u *upgraded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.tap = &tap{w: c}
	rw.Writer.Reset(u.tap)
	return tapped{c, u.tap}, rw, nil
}

// tapped is a connection with a tap.
type tapped struct {
	net.Conn
	tap *tap
}

// Write implements net.Conn.
func (t tapped) Write(b []byte) (int, error) { return t.tap.Write(b) }

// upgrading is a transport whose connection becomes a WebSocket.
type upgrading struct {
	http.RoundTripper
	tap *tap // once that is so
}

// RoundTrip implements http.RoundTripper.
func (u *upgrading) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if body, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		u.tap = &tap{w: body}
		resp.Body = tappedBody{body, u.tap}
	}
	return resp, nil
}

// tappedBody is tapped for the body of a response.
type tappedBody struct {
	io.ReadCloser
	tap *tap
}

// Write implements io.Writer.
func (t tappedBody) Write(b []byte) (int, error) { return t.tap.Write(b) }
