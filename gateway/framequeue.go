package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
)

// errSlow says that the other end does not take what it is sent.
var errSlow = errors.New("too slow: too much is waiting for it")

// frameQueue holds a session's outgoing frames. In a session that can be resumed they stay
// until the other end has acknowledged them. The queue also counts the frames of the
// other end, which it acknowledges in turn.
//
// A queue that has more bytes than its limit has failed: it drops its frames and takes
// no more, so that the session cannot be resumed.
type frameQueue struct {
	limit int           // bytes
	wake  chan struct{} // of capacity 1: there may be something to write

	mu      sync.Mutex
	keep    bool // frames stay until they are acknowledged
	frames  []outgoing
	next    int           // the first of frames that is not written yet
	dropped uint64        // frames of the session before frames[0]
	bytes   int           // of frames
	err     error         // why no frames are taken any more
	release func()        // of the frame that is being written; nil: none
	freed   chan struct{} // closed when frames are dropped; nil: no goroutine waits for that

	received     uint64 // frames of the other end
	unacked      int    // those received since the last ack was sent
	unackedBytes int
	ackDue       bool
}

// outgoing is a frame in a queue. release is called once, when the frame is no longer
// held; it may be nil. It must not call the queue.
type outgoing struct {
	wire.Encoded
	release func()
}

func (f outgoing) drop() {
	if f.release != nil {
		f.release()
	}
}

// An ack is due after so many frames, or bytes.
const (
	ackFrames = 32
	ackBytes  = 256 << 10
)

// enough is how many bytes a queue holds before those who can wait do so. The other
// end acknowledges sooner than that (see ackBytes), so that the wait has an end.
const enough = 4 << 20

func newFrameQueue(limit int) *frameQueue {
	return &frameQueue{limit: limit, wake: make(chan struct{}, 1)}
}

// put adds a frame. release is called once, when the frame is no longer held, or was
// not added; it may be nil.
func (q *frameQueue) put(frame wire.Encoded, release func()) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(outgoing{frame, release})
}

// putWhenRoom adds a frame once the queue holds less than enough. It waits for that
// until ctx ends.
func (q *frameQueue) putWhenRoom(ctx context.Context, frame wire.Encoded) error {
	for {
		q.mu.Lock()
		if q.err != nil || q.bytes < enough {
			defer q.mu.Unlock()
			return q.add(outgoing{Encoded: frame})
		}
		if q.freed == nil {
			q.freed = make(chan struct{})
		}
		freed := q.freed
		q.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add adds a frame. The caller holds mu.
func (q *frameQueue) add(f outgoing) error {
	if q.err == nil && q.bytes+f.Size() > q.limit {
		q.fail(errSlow)
	}
	if q.err != nil {
		f.drop()
		return q.err
	}
	q.bytes += f.Size()
	q.frames = append(q.frames, f)
	q.notify()
	return nil
}

// fail drops all frames; err is why no more are taken. The caller holds mu.
func (q *frameQueue) fail(err error) {
	q.written()
	q.drop(len(q.frames))
	q.err, q.next = err, 0
	q.notify()
}

// take returns the next frame to write, an ack or one that was put. It is empty where
// there is none for now. By the next call the frame has been written.
func (q *frameQueue) take() (wire.Encoded, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written()
	if q.err != nil {
		return wire.Encoded{}, q.err
	}
	if q.ackDue || q.unacked >= ackFrames || q.unackedBytes >= ackBytes {
		q.unacked, q.unackedBytes, q.ackDue = 0, 0, false
		if q.keep {
			return wire.Encode(&wire.Ack{Received: q.received})
		}
	}
	if q.next == len(q.frames) {
		return wire.Encoded{}, nil
	}
	frame := q.frames[q.next].Encoded
	q.next++
	if !q.keep {
		q.release, q.frames[0].release = q.frames[0].release, nil
		q.drop(1)
	}
	return frame, nil
}

// written notes that the frame that was taken last is written. The caller holds mu.
func (q *frameQueue) written() {
	outgoing{release: q.release}.drop()
	q.release = nil
}

// drop drops the first n frames. The caller holds mu.
func (q *frameQueue) drop(n int) {
	for i := range n {
		q.frames[i].drop()
		q.bytes -= q.frames[i].Size()
	}
	clear(q.frames[:n])
	q.frames = q.frames[n:]
	q.next -= n
	q.dropped += uint64(n)
	if q.freed != nil {
		close(q.freed)
		q.freed = nil
	}
}

// acknowledged notes that the other end has received n frames of the session.
func (q *frameQueue) acknowledged(n uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.acknowledge(n)
}

// acknowledge is acknowledged for callers that hold mu.
func (q *frameQueue) acknowledge(n uint64) error {
	if q.err != nil {
		return q.err
	}
	if sent := q.dropped + uint64(q.next); n < q.dropped || n > sent {
		return fmt.Errorf("%d frames received: of %d sent, those up to %d are known to be there", n, sent, q.dropped)
	}
	q.drop(int(n - q.dropped))
	return nil
}

// rewind has the frames written again that the other end has not received: it has n.
func (q *frameQueue) rewind(n uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.acknowledge(n); err != nil {
		return err
	}
	q.next = 0
	q.notify()
	return nil
}

// count counts a frame of the other end, of so many bytes.
func (q *frameQueue) count(size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.received++
	q.unacked++
	if q.unackedBytes += size; q.unacked >= ackFrames || q.unackedBytes >= ackBytes {
		q.notify()
	}
}

// counted is how many frames of the other end were received.
func (q *frameQueue) counted() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.received
}

// requestAck has an ack sent, whether there is news or not.
func (q *frameQueue) requestAck() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ackDue = true
	q.notify()
}

// reset begins another session, which can be resumed if keep says so.
func (q *frameQueue) reset(keep bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail(nil)
	q.keep, q.dropped = keep, 0
	q.received, q.unacked, q.unackedBytes = 0, 0, 0
}

// end drops all frames, and lets none be put any more; err is what put returns.
func (q *frameQueue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.fail(err)
	}
	q.notify()
}

// failed is why no frames are taken any more; nil: they are.
func (q *frameQueue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// empty reports whether all frames are written, or none will be.
func (q *frameQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err != nil || q.next == len(q.frames)
}

// notify wakes the goroutine that writes.
func (q *frameQueue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
