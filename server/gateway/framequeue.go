package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// errSlow says that the other end does not read fast enough.
var errSlow = errors.New("too slow: too much is waiting for it")

// frameQueue holds a session's outgoing frames. In a session that can be resumed, a frame stays until the other end has
// acknowledged it. The queue also counts the received frames, and acknowledges them.
//
// A queue that exceeds its limit of bytes has failed: it drops its frames and accepts no more, so the session cannot be resumed.
type frameQueue struct {
	limit int           // bytes
	wake  chan struct{} // capacity 1: tells the writer to look for frames

	mu      sync.Mutex
	keep    bool // keep frames until they are acknowledged
	frames  []outgoing
	next    int           // index of the first frame not yet written
	dropped uint64        // number of the session's frames before frames[0]
	bytes   int           // of frames
	err     error         // why no more frames are accepted
	release func()        // releases the frame that is being written; nil: none
	freed   chan struct{} // closed when frames are dropped; nil: no goroutine waits

	received     uint64 // frames received from the other end
	unacked      int    // frames received since the last ack was sent
	unackedBytes int
	ackDue       bool
}

// outgoing is a frame in a queue. release is called once, when the frame is no longer held; it may be nil. release must not call
// the queue.
type outgoing struct {
	wire.Encoded
	release func()
}

func (f outgoing) drop() {
	if f.release != nil {
		f.release()
	}
}

// An ack is due after this many frames or bytes.
const (
	ackFrames = 32
	ackBytes  = 256 << 10
)

// enough is the number of bytes in a queue at which putWhenFree waits. The other end acknowledges before that many bytes (see
// ackBytes), so the wait ends.
const enough = 4 << 20

func newFrameQueue(limit int) *frameQueue {
	return &frameQueue{limit: limit, wake: make(chan struct{}, 1)}
}

// put adds a frame. release is called once, when the frame is no longer held or was not added; it may be nil.
func (q *frameQueue) put(frame wire.Encoded, release func()) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(outgoing{frame, release})
}

// putWhenFree adds a frame once the queue holds fewer bytes than enough. It waits until ctx ends.
func (q *frameQueue) putWhenFree(ctx context.Context, frame wire.Encoded) error {
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

// fail drops all frames; err is the reason. The caller holds mu.
func (q *frameQueue) fail(err error) {
	q.written()
	q.drop(len(q.frames))
	q.err, q.next = err, 0
	q.notify()
}

// take returns the next frame to write: an ack or a frame that was put. It returns an empty frame if there is nothing to write. A
// call of take means that the frame returned before was written.
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

// written records that the last taken frame was written. The caller holds mu.
func (q *frameQueue) written() {
	outgoing{release: q.release}.drop()
	q.release = nil
}

// drop removes the first n frames. The caller holds mu.
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

// acknowledged records that the other end has received n frames of the session.
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
		return &wire.Error{Code: wire.Malformed, Message: fmt.Sprintf("ack: %d frames received, of %d sent; at least %d were received before", n, sent, q.dropped)}
	}
	q.drop(int(n - q.dropped))
	return nil
}

// rewind prepares the frames after the first n to be written again: the other end has only n.
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

// count counts a received frame of size bytes.
func (q *frameQueue) count(size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.received++
	q.unacked++
	if q.unackedBytes += size; q.unacked >= ackFrames || q.unackedBytes >= ackBytes {
		q.notify()
	}
}

// counted returns the number of received frames.
func (q *frameQueue) counted() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.received
}

// requestAck sends an ack even if no frames were received.
func (q *frameQueue) requestAck() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ackDue = true
	q.notify()
}

// reset begins another session. keep says whether it can be resumed.
func (q *frameQueue) reset(keep bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail(nil)
	q.keep, q.dropped = keep, 0
	q.received, q.unacked, q.unackedBytes = 0, 0, 0
}

// end drops all frames and accepts no more; put returns err from then on.
func (q *frameQueue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.fail(err)
	}
	q.notify()
}

// failed returns why no more frames are accepted, or nil.
func (q *frameQueue) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// empty reports whether all frames are written or dropped.
func (q *frameQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err != nil || q.next == len(q.frames)
}

// notify wakes the writing goroutine.
func (q *frameQueue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
