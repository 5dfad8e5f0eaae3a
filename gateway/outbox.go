package gateway

import (
	"errors"
	"fmt"
	"sync"
)

// ErrSlow says that a side does not take what it is sent.
var ErrSlow = errors.New("too slow: too much is waiting for it")

// outbox holds the frames of a session on their way out. Of a session that can be
// resumed they stay until the other side has said that it has them.
type outbox struct {
	limit int           // bytes
	wake  chan struct{} // of capacity 1: there is something to write

	mu     sync.Mutex
	keep   bool // until they are acknowledged
	frames [][]byte
	next   int    // of frames: the first that is not written
	base   uint64 // frames of the session before frames[0]
	bytes  int    // of frames
	err    error  // why nothing is taken any more

	writing bool // somebody takes frames and writes them

	received uint64 // of the other side's frames
	unacked  int    // frames received since the last ack was sent
	weight   int    // and their bytes
}

// An ack is due after so many frames, or bytes.
const (
	ackFrames = 32
	ackBytes  = 256 << 10
)

func newOutbox(limit int) *outbox { return &outbox{limit: limit, wake: make(chan struct{}, 1)} }

// put adds a frame, which is the outbox's from then on. Who says quietly writes it
// without being woken for it.
func (o *outbox) put(frame []byte, quietly bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.bytes += len(frame); o.bytes > o.limit {
		o.err = ErrSlow
		o.frames = nil
		o.rouse()
		return o.err
	}
	o.frames = append(o.frames, frame)
	if !quietly {
		o.rouse()
	}
	return nil
}

// claim makes the caller the one who takes frames and writes them, unless
// somebody is. It is so until take has none left, or fails, or release.
func (o *outbox) claim() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing {
		return false
	}
	o.writing = true
	return true
}

// release ends a claim.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
}

// take returns the next frame to write; nil where there is none for now, which
// ends the claim. ack is the number of received frames where that is to be told.
func (o *outbox) take() (frame []byte, ack uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		o.writing = false
		return nil, 0, o.err
	}
	if o.unacked >= ackFrames || o.weight >= ackBytes {
		o.unacked, o.weight = 0, 0
		if o.keep {
			ack = o.received
		}
	}
	if o.next == len(o.frames) {
		o.writing = ack > 0
		return nil, ack, nil
	}
	frame = o.frames[o.next]
	o.next++
	if !o.keep {
		o.drop(1)
	}
	return frame, ack, nil
}

// drop forgets the first n frames. The caller holds mu.
func (o *outbox) drop(n int) {
	for i := range n {
		o.bytes -= len(o.frames[i])
		o.frames[i] = nil
	}
	o.base += uint64(n)
	o.next -= n
	if o.frames = o.frames[n:]; len(o.frames) == 0 {
		o.frames = nil
	}
}

// has notes that the other side has received n frames of the session.
func (o *outbox) has(n uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n < o.base || n > o.base+uint64(o.next) {
		return fmt.Errorf("%d frames received: of %d sent, those up to %d are known to be there", n, o.base+uint64(o.next), o.base)
	}
	o.drop(int(n - o.base))
	return nil
}

// rewind has all written again that the other side, which has n frames, has not.
func (o *outbox) rewind(n uint64) error {
	if err := o.has(n); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = 0
	o.rouse()
	return nil
}

// got counts a frame of the other side.
func (o *outbox) got(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.received++
	o.unacked++
	if o.weight += size; o.unacked >= ackFrames || o.weight >= ackBytes {
		o.rouse()
	}
}

// count is the number of frames received.
func (o *outbox) count() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.received
}

// reset begins another session.
func (o *outbox) reset(keep bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep, o.frames, o.next, o.base, o.bytes = keep, nil, 0, 0, 0
	o.received, o.unacked, o.weight, o.err = 0, 0, 0, nil
}

// end lets nothing be put any more.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		o.frames, o.next = nil, 0
	}
	o.rouse()
}

// empty reports whether all is written, or nothing will be.
func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil || o.next == len(o.frames)
}

func (o *outbox) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
