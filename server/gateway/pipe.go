package gateway

import (
	"context"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

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

// limit and frameRoom do nothing: both ends are this program.
func (e *pipeEnd) limit(int) {}

func (e *pipeEnd) frameRoom() func() { return nil }

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
