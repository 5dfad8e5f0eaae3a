package gateway

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
)

// ErrSlow says that a side does not take what it is sent.
var ErrSlow = errors.New("too slow: too much is waiting for it")

// outbox holds the frames of a session on their way out. Of a session that can be
// resumed they stay until the other side has said that it has them.
type outbox struct {
	limit int           // bytes
	pads  *pads         // what is large in a frame is copied there; nil: it is not
	wake  chan struct{} // of capacity 1: there is something to write

	mu     sync.Mutex
	keep   bool // until they are acknowledged
	frames []wire.Encoded
	next   int    // of frames: the first that is not written
	base   uint64 // frames of the session before frames[0]
	bytes  int    // of frames
	err    error  // why nothing is taken any more

	writing bool // somebody takes frames and writes them

	received uint64 // of the other side's frames
	unacked  int    // frames received since the last ack was sent
	weight   int    // and their bytes
	due      bool   // an ack is
}

// An ack is due after so many frames, or bytes.
const (
	ackFrames = 32
	ackBytes  = 256 << 10
)

func newOutbox(limit int) *outbox { return &outbox{limit: limit, wake: make(chan struct{}, 1)} }

// put adds a frame, which is the outbox's from then on; where it has pads, the
// frame's Body stays the caller's. Who says quietly writes it without being woken
// for it.
func (o *outbox) put(frame wire.Encoded, quietly bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.bytes += frame.Size(); o.bytes > o.limit {
		o.err = ErrSlow
		o.frames = nil
		o.rouse()
		return o.err
	}
	if o.pads != nil && frame.Body != nil {
		frame.Body = append(o.pads.get(len(frame.Body)), frame.Body...)
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

// take returns the next frame to write; an empty one where there is none for now, which
// ends the claim. ack says how many were received, where that is to be told; else it
// is empty too.
func (o *outbox) take() (frame, ack wire.Encoded, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		o.writing = false
		return wire.Encoded{}, wire.Encoded{}, o.err
	}
	if o.due || o.unacked >= ackFrames || o.weight >= ackBytes {
		o.unacked, o.weight, o.due = 0, 0, false
		if o.keep {
			ack = ackFrame(o.received)
		}
	}
	if o.next == len(o.frames) {
		o.writing = ack.Head != nil
		return wire.Encoded{}, ack, nil
	}
	frame = o.frames[o.next]
	o.next++
	if !o.keep {
		o.drop(1)
	}
	return frame, ack, nil
}

func ackFrame(n uint64) wire.Encoded {
	b, err := wire.Encode(&wire.Ack{Received: n})
	if err != nil {
		panic(err) // a number always marshals
	}
	return b
}

// drop forgets the first n frames, whose room is used again where it is certain
// that they have been written: the other side may say so too early, and would get
// what is somebody else's. The caller holds mu.
func (o *outbox) drop(n int) {
	for i := range n {
		o.bytes -= o.frames[i].Size()
		if written := i < o.next-1 || !o.writing; o.pads != nil && o.keep && written {
			o.pads.put(o.frames[i].Body)
		}
		o.frames[i] = wire.Encoded{}
	}
	o.base += uint64(n)
	o.next -= n
	if rest := len(o.frames) - n; rest < n { // else moving them costs more than the room
		copy(o.frames, o.frames[n:])
		clear(o.frames[rest:])
		o.frames = o.frames[:rest]
	} else {
		o.frames = o.frames[n:]
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

// beat has an ack sent, whether there is news or not.
func (o *outbox) beat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due = true
	o.rouse()
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
