package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// limits bound what a client can have the server hold for it. They are soft:
// the last request or answer that is let in may go beyond them.
type limits struct {
	unread  int // bytes that the client has not taken; the answers to requests at work come on top
	atWork  int // requests that are begun, and neither answered nor waiting for a person
	waiting int // bytes of requests that are read and not begun
}

var defaultLimits = limits{unread: 32 << 20, atWork: 64, waiting: 32 << 20}

// requestCost is what a request that waits counts, besides its bytes.
const requestCost = 4 << 10

// stuckTime is how long a client may take nothing when so much is on its way
// that nothing more is read from it.
const stuckTime = time.Minute

// grace is how long a client may take nothing of what it is owed once the
// session is to end.
const grace = 2 * time.Second

// pieceSize is how many bytes are written at once: progress is seen piece by
// piece.
const pieceSize = 256 << 10

// errUnread ends a session whose client does not read.
var errUnread = errors.New("the client does not read its answers")

// lineWriter writes whole lines to a client, in the order in which they are
// put. No caller of put waits for the client. It also counts what the client
// has the server hold: see limits.
type lineWriter struct {
	out    io.Writer
	fail   func() // called once, when nothing can be written any more
	limits limits

	mu       sync.Mutex
	lines    [][]byte
	unread   int // bytes that the client has not taken
	atWork   int
	waiting  int
	writing  bool          // a goroutine is in drain
	progress int           // goes up when the client takes something, or is owed something where it was owed nothing
	err      error         // why nothing is written any more
	changed  chan struct{} // closed with the next change; nil when no goroutine waits for it
}

// put adds a line, which is the writer's from then on.
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

// drain writes until there is nothing more to be written.
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

// write writes a line, piece by piece. The caller holds mu, which is free
// meanwhile.
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

// end lets nothing be written any more. The caller holds mu.
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

// count changes the counters by update, which is called with mu held.
func (w *lineWriter) count(update func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	update()
	w.wake()
}

// wait waits until condition holds, which is called with mu held and may change
// the counters. The error is ctx's, or says why nothing is written any more.
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

// waitToRead is wait for a goroutine that reads from the client. A client that
// takes nothing all the while is given up.
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

// hasRoom reports whether another request may begin. The caller holds mu.
func (w *lineWriter) hasRoom() bool {
	return w.unread < w.limits.unread && w.atWork < w.limits.atWork
}

// isFull reports whether the client is so far behind that news is no use to it.
func (w *lineWriter) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unread >= w.limits.unread
}

// failed says why nothing is written any more; nil if lines are still written.
func (w *lineWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// state returns the count of the client's progress, and whether it is owed
// something.
func (w *lineWriter) state() (progress int, owed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.progress, w.unread > 0
}

// watch gives the client up when it does not take what it is owed at the end:
// after inputEnded, when it takes nothing for the time of grace; after stop,
// when that has passed. It returns when over does, at the latest.
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

// flush waits until the client has taken all, or is given up.
func (w *lineWriter) flush() {
	_ = w.wait(context.Background(), func() bool { return w.unread == 0 && !w.writing }) // failed says so too
}

// Write is put for the SDK, whose the bytes stay.
func (w *lineWriter) Write(line []byte) (int, error) {
	if err := w.failed(); err != nil {
		return 0, err
	}
	w.put(bytes.Clone(line))
	return len(line), nil
}

// Close implements io.Closer. The writer is not ours to close.
func (w *lineWriter) Close() error { return nil }
