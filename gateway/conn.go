package gateway

import (
	"context"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// conn carries whole frames between two sides. One goroutine reads and one
// writes at a time; the rest may be called by anybody.
type conn interface {
	read() ([]byte, error) // the bytes hold until the next read
	write(wire.Encoded) error
	ping(ctx context.Context) error // until the other side has answered
	close(code websocket.StatusCode, reason string)
	abort() // reads and writes end at once
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

func (e *end) write(frame wire.Encoded) error {
	select {
	case e.out <- frame.Bytes(): // nobody changes it
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
