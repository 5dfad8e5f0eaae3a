package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Time limits of a connection.
const (
	helloTime = 10 * time.Second // until the first frame
	writeTime = 15 * time.Second // for one frame
	pingEvery = 20 * time.Second // between two pings
	pongTime  = 10 * time.Second // until the answer to a ping
)

// session is one end of a client session, at the client or at the hub. It outlives a connection: after a loss, frames without an
// acknowledgement are sent over the next connection.
type session struct {
	queue *frameQueue
	limit atomic.Int64 // largest frame, in bytes, that the other end accepts; 0: no limit
	log   *slog.Logger
	// beats says to send a frame as often as pings are sent, because a page in a browser does not see pings.
	beats bool

	handle     func(wire.Frame) // called for one frame at a time; while it waits, no frame is read
	frameBytes func()           // gives back the memory of the frame that is handled; nil: none is taken; handle may take it over, and set nil
	// admit waits until a frame can be handled. It returns false if the connection's ctx ended first. Then the frame counts as not
	// received, and the other end sends it again after a resume. nil: a frame can always be handled.
	admit func(ctx context.Context, _ wire.Frame) bool
}

// maxWaiting is the limit of bytes in a session's queue.
const maxWaiting = 64 << 20

// maxMalformed is the limit of malformed frames on a connection.
const maxMalformed = 100

func newSession(log *slog.Logger, handle func(wire.Frame)) *session {
	return &session{queue: newFrameQueue(maxWaiting), log: log, handle: handle}
}

// errLarge says that a frame is larger than the other end accepts. Such a frame would end the connection, and also the next
// connection, because it would be sent again.
var errLarge = errors.New("the frame is larger than the other side takes")

// send queues a frame. errLarge says that it did not. Any other error says that the session is over or will end soon.
func (s *session) send(f wire.Frame) error { return s.sendHeld(f, nil) }

// sendHeld is send for a frame that takes capacity elsewhere. release is called once, when the frame is no longer held here or was not
// sent.
func (s *session) sendHeld(f wire.Frame, release func()) error {
	b, err := s.encode(f)
	if err != nil {
		outgoing{release: release}.drop()
		return err
	}
	return s.queue.put(b, release)
}

// sendWhenFree is send, but it waits while the queue is full, until ctx ends.
func (s *session) sendWhenFree(ctx context.Context, f wire.Frame) error {
	b, err := s.encode(f)
	if err != nil {
		return err
	}
	return s.queue.putWhenFree(ctx, b)
}

func (s *session) encode(f wire.Frame) (wire.Encoded, error) {
	b, err := wire.Encode(f)
	if limit := s.limit.Load(); err == nil && limit > 0 && int64(b.Size()) > limit {
		err = errLarge
	}
	return b, err
}

// envelope is the limit of a call's or result's bytes besides its payload. The names in it are short.
const envelope = 2048

// fits reports whether the other end accepts a frame with this payload.
func (s *session) fits(payload []byte) bool {
	limit := s.limit.Load()
	return limit == 0 || int64(len(payload)+envelope) <= limit
}

// run runs the session over a connection, until the connection or ctx ends. It returns the reason.
func (s *session) run(ctx context.Context, c connection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, c.abort)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { cancel(s.write(ctx, c)) })
	wg.Go(func() { cancel(s.watch(ctx, c)) })
	cancel(s.read(ctx, c))
	wg.Wait()
	return context.Cause(ctx)
}

var errMalformed = &wire.Error{Code: wire.Malformed, Message: "too many malformed frames"}

// read handles received frames until the connection ends.
func (s *session) read(ctx context.Context, c connection) error {
	for malformed := 0; ; {
		b, err := c.read()
		if err != nil {
			return err
		}
		s.frameBytes = c.frameBytes()
		f, err := wire.Decode(b)
		if ack, ok := f.(*wire.Ack); ok {
			s.freeFrame()
			if err := s.queue.acknowledged(ack.Received); err != nil {
				if wrong := (*wire.Error)(nil); errors.As(err, &wrong) {
					refuse(c, wrong)
				}
				return err
			}
			continue
		}
		if err == nil && s.admit != nil && !s.admit(ctx, f) {
			s.freeFrame()
			return context.Cause(ctx)
		}
		s.queue.count(len(b))
		if err == nil {
			s.handle(f)
		}
		s.freeFrame()
		if err == nil {
			continue
		}
		var reply *wire.Error
		if errors.As(err, &reply) {
			s.log.Info("malformed frame", "err", err)
			if err := s.send(reply); err != nil {
				return err
			}
		}
		if malformed++; malformed > maxMalformed {
			refuse(c, errMalformed)
			return errMalformed
		}
	}
}

// freeFrame gives back the memory of a frame that was handled.
func (s *session) freeFrame() {
	if s.frameBytes != nil {
		s.frameBytes()
	}
}

var errStuck = errors.New("the other side takes nothing")

// write writes the queue's frames until ctx ends.
func (s *session) write(ctx context.Context, c connection) error {
	late := time.AfterFunc(writeTime, c.abort)
	late.Stop()
	for {
		frame, err := s.queue.take()
		switch {
		case errors.Is(err, errClosed): // the goroutine that ended the session closes the connection with the reason
			<-ctx.Done()
			return nil
		case errors.Is(err, errSlow):
			c.close(websocket.StatusTryAgainLater, err.Error())
			return err
		case err != nil:
			return err
		}
		if frame.Size() == 0 {
			select {
			case <-s.queue.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		late.Reset(writeTime)
		if err := c.write(frame); err != nil {
			return err
		}
		if !late.Stop() {
			return errStuck
		}
	}
}

var errSilent = errors.New("the other side does not answer")

// watch detects a lost connection that reports no error.
func (s *session) watch(ctx context.Context, c connection) error {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
		if s.beats {
			s.queue.requestAck()
		}
		pong, cancel := context.WithTimeout(ctx, pongTime)
		err := c.ping(pong)
		cancel()
		if err != nil && ctx.Err() == nil {
			return errors.Join(errSilent, err)
		}
	}
}

// readHello reads the first frame of a connection.
func readHello(c connection) (*wire.Hello, error) {
	late := time.AfterFunc(helloTime, c.abort)
	b, err := c.read()
	if !late.Stop() {
		return nil, errors.New("no hello in time")
	}
	if err != nil {
		return nil, err
	}
	if free := c.frameBytes(); free != nil {
		defer free()
	}
	f, err := wire.Decode(b)
	if err != nil {
		return nil, err
	}
	switch f := f.(type) {
	case *wire.Hello:
		return f, nil
	case *wire.Error:
		return nil, f
	}
	return nil, &wire.Error{Code: wire.Malformed, Message: "the first frame must be hello, not " + wire.TypeOf(f)}
}

// writeNow writes a frame outside of the session's queue.
func writeNow(c connection, f wire.Frame) error {
	late := time.AfterFunc(writeTime, c.abort)
	defer late.Stop()
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return c.write(b)
}

// refuse closes a connection for good.
func refuse(c connection, e *wire.Error) {
	c.close(websocket.StatusPolicyViolation, e.Code+": "+e.Message)
}
