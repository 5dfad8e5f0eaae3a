package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// limits are what may be on its way to a client.
type limits struct {
	unread int // bytes that it has not taken; passed only by the answers to calls at work
	atWork int // calls that are begun, and neither answered nor asked about
	late   int // bytes of what is read all the same: calls that wait for room, and other lines
}

var usual = limits{unread: 32 << 20, atWork: 64, late: 32 << 20}

// atLeast is what a line that waits counts, besides its bytes.
const atLeast = 4 << 10

// stuck is how long a client may take nothing when there is so much on its way
// that nothing more is read from it.
const stuck = time.Minute

// grace is how long a client may take nothing of what it is owed once the
// session is to end.
const grace = 2 * time.Second

// piece is how many bytes are written at once: what a client takes shows by
// pieces.
const piece = 256 << 10

// errUnread ends a session whose client does not read.
var errUnread = errors.New("the client does not read its answers")

// outlet writes whole lines, in the order in which they are put. Only drain
// waits for the client. Whoever puts a line while nothing is written has to
// call it.
type outlet struct {
	w      io.Writer
	fail   func(error) // told once why nothing can be written any more
	limits limits

	mu      sync.Mutex
	lines   [][]byte
	unread  int // bytes that the client has not taken
	atWork  int
	late    int           // bytes of the calls that wait for room
	passed  int           // bytes of the other lines, since there was room
	writing bool          // somebody is in drain
	moves   int           // see progress
	err     error         // why nothing is written any more
	moved   chan struct{} // closed with the next change; nil when nobody waits for it
}

// put adds a line, which is the outlet's from then on. The caller has to see to
// a drain if it says so.
func (o *outlet) put(line []byte) (drain bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false
	}
	if o.unread == 0 {
		o.moves++
	}
	o.lines = append(o.lines, line)
	o.unread += len(line)
	drain = !o.writing
	o.writing = true
	return drain
}

// post puts a line, and leaves the writing to another goroutine.
func (o *outlet) post(line []byte) {
	if o.put(line) {
		go o.drain()
	}
}

// drain writes until there is nothing more to be written.
func (o *outlet) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for next := 0; ; next++ {
		if next == len(o.lines) || o.err != nil {
			o.lines, o.writing = o.lines[:0], false
			o.changed()
			return
		}
		line := o.lines[next]
		o.lines[next] = nil
		if next >= 1024 { // no more than that is kept of those that are written
			o.lines, next = append(o.lines[:0], o.lines[next+1:]...), -1
		}
		o.write(line)
	}
}

// write writes a line, piece by piece. The caller holds mu, which is free
// meanwhile.
func (o *outlet) write(line []byte) {
	for len(line) > 0 && o.err == nil {
		part := line[:min(len(line), piece)]
		o.mu.Unlock()
		_, err := o.w.Write(part)
		o.mu.Lock()
		line = line[len(part):]
		o.unread -= len(part)
		o.moves++
		if err != nil {
			o.end(err)
		}
		o.changed()
	}
}

// end lets nothing be written any more. The caller holds mu.
func (o *outlet) end(err error) {
	if o.err == nil {
		o.err = err
		clear(o.lines)
		o.changed()
		o.fail(err)
	}
}

// changed wakes who waits for a change. The caller holds mu.
func (o *outlet) changed() {
	if o.moved != nil {
		close(o.moved)
		o.moved = nil
	}
}

// wait waits until something is so, which is asked with mu held, or nothing is
// written any more. It is false when ctx ends before.
func (o *outlet) wait(ctx context.Context, so func() bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && !so() {
		if o.moved == nil {
			o.moved = make(chan struct{})
		}
		moved := o.moved
		o.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		o.mu.Lock()
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

// pass waits until a line of so many bytes may be answered by others than calls.
func (o *outlet) pass(ctx context.Context, size int) {
	o.readOn(ctx, func() bool {
		switch {
		case o.unread < o.limits.unread:
			o.passed = 0
			return true
		case o.passed < o.limits.late:
			o.passed += size + atLeast
			return true
		}
		return false
	})
}

// hold waits until another call may wait for room, and counts its bytes.
func (o *outlet) hold(ctx context.Context, size int) {
	o.readOn(ctx, func() bool { return o.late < o.limits.late })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late += size + atLeast
}

// release counts such a call out.
func (o *outlet) release(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late -= size + atLeast
	o.changed()
}

// readOn is wait for the goroutine that reads. A client that takes nothing all
// the while is given up.
func (o *outlet) readOn(ctx context.Context, so func() bool) {
	for {
		before, _ := o.progress()
		waiting, cancel := context.WithTimeout(ctx, stuck)
		done := o.wait(waiting, so)
		cancel()
		if done || ctx.Err() != nil {
			return
		}
		if now, _ := o.progress(); now == before {
			o.giveUp()
			return
		}
	}
}

// enter counts a call in if there is room for its answer.
func (o *outlet) enter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.take()
}

// await is enter for a call that can wait. It has to be left in any case.
func (o *outlet) await(ctx context.Context) {
	entered := false
	o.wait(ctx, func() bool {
		entered = o.take()
		return entered
	})
	if !entered {
		o.mu.Lock()
		o.atWork++
		o.mu.Unlock()
	}
}

func (o *outlet) take() bool {
	free := o.unread < o.limits.unread && o.atWork < o.limits.atWork
	if free {
		o.atWork++
	}
	return free
}

// leave counts a call out.
func (o *outlet) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.atWork--
	o.changed()
}

// full reports whether the client is so far behind that news is no use to it.
func (o *outlet) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unread >= o.limits.unread
}

// failed says why nothing is written any more; nil if it is.
func (o *outlet) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// watch gives the client up when it does not take what it is owed: after ending,
// when it takes nothing for the time of grace; after stop, when that has passed.
// It returns when over does, at the latest.
func (o *outlet) watch(ending, stop, over <-chan struct{}) {
	select {
	case <-ending:
	case <-stop:
	case <-over:
		return
	}
	for stopped := false; !stopped; {
		seen, _ := o.progress()
		select {
		case <-stop:
			stopped = true
		case <-over:
			return
		case <-time.After(grace):
			if now, owed := o.progress(); owed && now == seen {
				o.giveUp()
				return
			}
		}
	}
	select {
	case <-over:
	case <-time.After(grace):
		o.giveUp()
	}
}

// progress is another number when the client has taken something, or is owed
// something where it was owed nothing.
func (o *outlet) progress() (n int, owed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.moves, o.unread > 0
}

func (o *outlet) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(errUnread)
}

// flush waits until the client has taken all, or is given up.
func (o *outlet) flush() {
	o.wait(context.Background(), func() bool { return o.unread == 0 && !o.writing })
}

// Write is post for the SDK, whose the bytes stay. What it has to say is
// answered for by pass, which is asked for each line that it gets.
func (o *outlet) Write(line []byte) (int, error) {
	if err := o.failed(); err != nil {
		return 0, err
	}
	o.post(bytes.Clone(line))
	return len(line), nil
}

// Close implements io.Closer. The writer is not ours to close.
func (o *outlet) Close() error { return nil }
