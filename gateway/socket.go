package gateway

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// socket is a conn over a WebSocket. The library shakes hands, reads, pings and
// closes. Frames are written past it: it would write a large one in many pieces,
// and wants it in one.
type socket struct {
	ws   *websocket.Conn
	pen  *pen
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

func (s *socket) write(frame wire.Encoded) error { return s.pen.frame(frame) }

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

// pen writes to the connection below a WebSocket: what the library says of its
// own, and frames, each in one piece if it is not larger than maxGathered.
type pen struct {
	w    io.Writer
	mask bool // clients have to

	mu  sync.Mutex
	buf []byte
}

const (
	maxGathered = 256 << 10 // bytes that are gathered for one write
	maxCopied   = 16 << 10  // bytes that are copied rather than written by their pieces
)

// Write implements io.Writer.
func (p *pen) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.w.Write(b)
}

// frame writes a text message of one frame. (RFC 6455, 5.2)
func (p *pen) frame(f wire.Encoded) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := f.Size()
	p.buf = appendHeader(p.buf[:0], size, p.mask)
	if !p.mask {
		if size <= maxCopied {
			p.buf = f.AppendTo(p.buf)
			_, err := p.w.Write(p.buf)
			return err
		}
		pieces := net.Buffers{append(p.buf, f.Head...), f.Body, f.Tail}
		p.buf = nil
		_, err := pieces.WriteTo(p.w)
		return err
	}
	key := rand.Uint32() // which nobody foresees
	p.buf = binary.LittleEndian.AppendUint32(p.buf, key)
	for _, piece := range [][]byte{f.Head, f.Body, f.Tail} {
		for len(piece) > 0 {
			n := min(len(piece), maxGathered)
			if len(p.buf)+n > maxGathered {
				if err := p.out(); err != nil {
					return err
				}
			}
			p.buf = appendMasked(p.buf, piece[:n], key)
			key = bits.RotateLeft32(key, -8*(n%4))
			piece = piece[n:]
		}
	}
	return p.out()
}

// out writes what is gathered. The caller holds mu.
func (p *pen) out() error {
	_, err := p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// appendHeader appends the header of a text message of size bytes, without the
// key of its mask.
func appendHeader(dst []byte, size int, masked bool) []byte {
	const final, text, mask = 0x80, 0x1, 0x80
	dst = append(dst, final|text)
	var bit byte
	if masked {
		bit = mask
	}
	switch {
	case size < 126:
		return append(dst, bit|byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, bit|126), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(dst, bit|127), uint64(size))
}

// appendMasked appends b with the key, which begins at its first byte, over it.
// (RFC 6455, 5.3)
func appendMasked(dst, b []byte, key uint32) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(b))[:n+len(b)]
	to, wide := dst[n:], uint64(key)<<32|uint64(key)
	for len(b) >= 32 {
		t, f := to[:32], b[:32]
		binary.LittleEndian.PutUint64(t, binary.LittleEndian.Uint64(f)^wide)
		binary.LittleEndian.PutUint64(t[8:], binary.LittleEndian.Uint64(f[8:])^wide)
		binary.LittleEndian.PutUint64(t[16:], binary.LittleEndian.Uint64(f[16:])^wide)
		binary.LittleEndian.PutUint64(t[24:], binary.LittleEndian.Uint64(f[24:])^wide)
		to, b = to[32:], b[32:]
	}
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(b)^wide)
		to, b = to[8:], b[8:]
	}
	for i := range b {
		to[i] = b[i] ^ byte(key>>(8*(i%4)))
	}
	return dst
}

// upgraded is the writer of a response whose connection becomes a WebSocket.
type upgraded struct {
	http.ResponseWriter
	pen *pen // once that is so
}

// Hijack implements http.Hijacker.
func (u *upgraded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.pen = &pen{w: c}
	rw.Writer.Reset(u.pen)
	return penned{c, u.pen}, rw, nil
}

// penned is a connection that is written to with a pen.
type penned struct {
	net.Conn
	pen *pen
}

// Write implements net.Conn.
func (p penned) Write(b []byte) (int, error) { return p.pen.Write(b) }

// upgrading is a transport whose connection becomes a WebSocket.
type upgrading struct {
	http.RoundTripper
	pen *pen // once that is so
}

// RoundTrip implements http.RoundTripper.
func (u *upgrading) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if body, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		u.pen = &pen{w: body, mask: true}
		resp.Body = pennedBody{body, u.pen}
	}
	return resp, nil
}

// pennedBody is penned for the body of a response.
type pennedBody struct {
	io.ReadCloser
	pen *pen
}

// Write implements io.Writer.
func (p pennedBody) Write(b []byte) (int, error) { return p.pen.Write(b) }
