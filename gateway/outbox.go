package gateway

import (
	"context"
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
	frames []outgoing
	next   int           // of frames: the first that is not written
	base   uint64        // frames of the session before frames[0]
	bytes  int           // of frames
	err    error         // why nothing is taken any more
	last   func()        // to be called when the frame that was taken last is written; nil: none is
	freed  chan struct{} // closed when frames are forgotten; nil: no goroutine waits

	writing bool // somebody takes frames and writes them

	received uint64 // of the other side's frames
	unacked  int    // frames received since the last ack was sent
	weight   int    // and their bytes
	due      bool   // an ack is
}

// outgoing is a frame in an outbox. gone is called once, when the frame is no longer
// there; nil: no function is. It must not call the outbox.
type outgoing struct {
	wire.Encoded
	gone func()
}

func (f outgoing) forget() {
	if f.gone != nil {
		f.gone()
	}
}

// An ack is due after so many frames, or bytes.
const (
	ackFrames = 32
	ackBytes  = 256 << 10
)

func newOutbox(limit int) *outbox { return &outbox{limit: limit, wake: make(chan struct{}, 1)} }

// enough is how many bytes an outbox holds before those who can wait do so. The other
// side acknowledges sooner than that (see ackBytes), so that the wait has an end.
const enough = 4 << 20

// putLater is put that waits, until ctx ends, as long as the outbox holds enough.
func (o *outbox) putLater(ctx context.Context, frame wire.Encoded, quietly bool) error {
	for {
		o.mu.Lock()
		if o.err != nil || o.bytes < enough {
			defer o.mu.Unlock()
			return o.add(frame, nil, quietly)
		}
		if o.freed == nil {
			o.freed = make(chan struct{})
		}
		freed := o.freed
		o.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// free wakes those who wait for room. The caller holds mu.
func (o *outbox) free() {
	if o.freed != nil {
		close(o.freed)
		o.freed = nil
	}
}

// put adds a frame, which is the outbox's from then on; where it has pads, the
// frame's Body stays the caller's. gone is called once, when the frame is no longer
// in the outbox; it may be nil. With quietly the writer is not woken. An outbox that
// has more than its limit is over: it takes nothing any more, and the session cannot
// be resumed.
func (o *outbox) put(frame wire.Encoded, gone func(), quietly bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(frame, gone, quietly)
}

// add is put for who holds mu.
func (o *outbox) add(frame wire.Encoded, gone func(), quietly bool) error {
	err := o.err
	if err == nil && o.bytes+frame.Size() > o.limit {
		err = ErrSlow
		o.stop(err)
	}
	if err != nil {
		outgoing{gone: gone}.forget()
		return err
	}
	o.bytes += frame.Size()
	if o.pads != nil && frame.Body != nil {
		frame.Body = append(o.pads.get(len(frame.Body)), frame.Body...)
	}
	o.frames = append(o.frames, outgoing{frame, gone})
	if !quietly {
		o.rouse()
	}
	return nil
}

// stop forgets all frames, and takes no more. The caller holds mu.
func (o *outbox) stop(err error) {
	for _, f := range o.frames {
		f.forget()
	}
	o.written()
	o.err, o.frames, o.next, o.bytes = err, nil, 0, 0
	o.free()
	o.rouse()
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
	o.written()
	o.writing = false
}

// written notes that the frame that was taken last is. The caller holds mu.
func (o *outbox) written() {
	if o.last != nil {
		o.last()
		o.last = nil
	}
}

// take returns the next frame to write; an empty one where there is none for now, which
// ends the claim. ack says how many were received, where that is to be told; else it
// is empty too.
func (o *outbox) take() (frame, ack wire.Encoded, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written()
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
	frame = o.frames[o.next].Encoded
	o.next++
	if !o.keep {
		o.last, o.frames[0].gone = o.frames[0].gone, nil
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
		o.frames[i].forget()
		o.bytes -= o.frames[i].Size()
		if written := i < o.next-1 || !o.writing; o.pads != nil && o.keep && written {
			o.pads.put(o.frames[i].Body)
		}
		o.frames[i] = outgoing{}
	}
	if n > 0 {
		o.free()
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
	return o.acknowledge(n)
}

// acknowledge is has for who holds mu.
func (o *outbox) acknowledge(n uint64) error {
	if o.err != nil {
		return o.err
	}
	if n < o.base || n > o.base+uint64(o.next) {
		return fmt.Errorf("%d frames received: of %d sent, those up to %d are known to be there", n, o.base+uint64(o.next), o.base)
	}
	o.drop(int(n - o.base))
	return nil
}

// rewind has all written again that the other side, which has n frames, has not.
func (o *outbox) rewind(n uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.acknowledge(n); err != nil {
		return err
	}
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
	o.stop(nil)
	o.keep, o.base = keep, 0
	o.received, o.unacked, o.weight, o.err = 0, 0, 0, nil
}

// end lets nothing be put any more.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.stop(err)
	}
	o.rouse()
}

// failed is why nothing is taken any more; nil: frames are.
func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
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
