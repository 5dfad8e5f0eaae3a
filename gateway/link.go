package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// times are how long things may take.
type times struct {
	hello time.Duration // until the first frame
	write time.Duration // of one frame
	ping  time.Duration // between two of them
	pong  time.Duration // until the answer
}

var usual = times{hello: 10 * time.Second, write: 15 * time.Second, ping: 20 * time.Second, pong: 10 * time.Second}

// link is one side of a session: it lives on where connections come and go.
type link struct {
	// inline has whoever sends a frame write it, if nobody else does: that is for
	// the side where only the sender waits for it then.
	inline bool

	// borrows has results that are handled hold as long as handle does, and no
	// longer: they are on their way somewhere else.
	borrows bool
	// beats has the other side hear something as often as it is pinged: pages in a
	// browser are not told of pings.
	beats bool

	now    atomic.Pointer[outlet] // where inline frames go; nil: nowhere
	limit  atomic.Int64           // bytes of a frame that the other side takes; 0: any number
	out    *outbox
	times  times
	log    *slog.Logger
	handle func(wire.Frame) // called for one frame after the other; while it waits nothing is read
	// admit waits until a frame can be handled, and reports whether that is so: it
	// is not when the connection's ctx has ended. Then the frame was not received,
	// and the other side sends it again when the session goes on. nil: any can.
	admit func(ctx context.Context, _ wire.Frame) bool
}

// maxWaiting is how many bytes may wait for a side.
const maxWaiting = 64 << 20

// maxBad is how many frames of a connection may be malformed.
const maxBad = 100

func newLink(log *slog.Logger, handle func(wire.Frame)) *link {
	return &link{out: newOutbox(maxWaiting), times: usual, log: log, handle: handle}
}

// errLarge says that a frame is larger than the other side takes. It would end
// the connection, and the next one, over which it is sent again.
var errLarge = errors.New("the frame is larger than the other side takes")

// send puts a frame on its way. errLarge says that it is not; any other error that
// the session is over, or will be in a moment.
func (l *link) send(f wire.Frame) error { return l.sendWith(f, nil) }

// sendWith is send that has gone called when the frame is no longer held here, or
// was not sent.
func (l *link) sendWith(f wire.Frame, gone func()) error {
	b, err := l.encode(f)
	if err != nil {
		outgoing{gone: gone}.forget()
		return err
	}
	return l.flush(l.out.put(b, gone, l.inline))
}

// sendLater is send that waits as long as much is on its way already, or until ctx
// ends.
func (l *link) sendLater(ctx context.Context, f wire.Frame) error {
	b, err := l.encode(f)
	if err != nil {
		return err
	}
	return l.flush(l.out.putLater(ctx, b, l.inline))
}

func (l *link) encode(f wire.Frame) (wire.Encoded, error) {
	b, err := wire.Encode(f)
	if limit := l.limit.Load(); err == nil && limit > 0 && int64(b.Size()) > limit {
		err = errLarge
	}
	return b, err
}

// flush writes what was put, unless another goroutine does so. err is that of the
// put.
func (l *link) flush(err error) error {
	if err != nil || !l.inline {
		return err
	}
	if o := l.now.Load(); o == nil || o.drain(l.out) != nil {
		l.out.rouse() // the connection's end, which its own goroutines deal with
	}
	return nil
}

// fits reports whether a frame with this object in it is one that the other side
// takes.
func (l *link) fits(object []byte) bool {
	limit := l.limit.Load()
	return limit == 0 || int64(len(object)+aroundObject) <= limit
}

// aroundObject is what a call or a result has around its object, at most, in
// bytes: the names in it are short.
const aroundObject = 2048

// run carries the session over a connection until that ends, or ctx, and returns
// why.
func (l *link) run(ctx context.Context, c conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, c.abort)
	defer stop()
	var wg sync.WaitGroup
	o := newOutlet(c, l.times.write)
	wg.Go(func() { cancel(l.write(ctx, o)) })
	wg.Go(func() { cancel(l.watch(ctx, c)) })
	if l.inline {
		l.now.Store(o)
	}
	cancel(l.read(ctx, c))
	l.now.Store(nil)
	wg.Wait()
	return context.Cause(ctx)
}

var errEnough = &wire.Error{Code: wire.Malformed, Message: "too many malformed frames"}

// read takes what comes until the end of the connection.
func (l *link) read(ctx context.Context, c conn) error {
	for bad := 0; ; {
		b, err := c.read()
		if err != nil {
			return err
		}
		f, err := wire.Decode(b)
		if a, ok := f.(*wire.Ack); ok {
			if err := l.out.has(a.Received); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			l.own(f)
		}
		if err == nil && l.admit != nil && !l.admit(ctx, f) {
			return context.Cause(ctx)
		}
		l.out.got(len(b))
		if err == nil {
			l.handle(f)
			continue
		}
		var reply *wire.Error
		if errors.As(err, &reply) {
			l.log.Info("malformed frame", "err", err)
			if err := l.send(reply); err != nil {
				return err
			}
		}
		if bad++; bad > maxBad {
			refuse(c, errEnough)
			return errEnough
		}
	}
}

// own has a frame hold when the next one is read to where it was.
func (l *link) own(f wire.Frame) {
	if _, ok := f.(*wire.ToolResult); ok && l.borrows {
		return
	}
	wire.Detach(f)
}

var errStuck = errors.New("the other side takes nothing")

// write writes what is put, until ctx ends.
func (l *link) write(ctx context.Context, o *outlet) error {
	for {
		err := o.drain(l.out)
		if errors.Is(err, ErrClosed) { // who ended the session closes the connection, and says why
			<-ctx.Done()
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-l.out.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// outlet is a connection to which frames are written.
type outlet struct {
	c      conn
	within time.Duration // of one frame
	stuck  *time.Timer
}

func newOutlet(c conn, within time.Duration) *outlet {
	o := &outlet{c: c, within: within, stuck: time.AfterFunc(within, c.abort)}
	o.stuck.Stop()
	return o
}

// drain writes what an outbox has, unless somebody does so already.
func (o *outlet) drain(box *outbox) error {
	if !box.claim() {
		return nil
	}
	for {
		frame, ack, err := box.take()
		if errors.Is(err, ErrSlow) {
			o.c.close(websocket.StatusTryAgainLater, err.Error())
		}
		if err != nil {
			return err
		}
		if frame.Head == nil && ack.Head == nil {
			return nil
		}
		if ack.Head != nil {
			err = o.put(ack)
		}
		if frame.Head != nil && err == nil {
			err = o.put(frame)
		}
		if err != nil {
			box.release()
			return err
		}
	}
}

func (o *outlet) put(b wire.Encoded) error {
	o.stuck.Reset(o.within)
	if err := o.c.write(b); err != nil {
		return err
	}
	if !o.stuck.Stop() {
		return errStuck
	}
	return nil
}

var errSilent = errors.New("the other side does not answer")

// watch finds out when the other side is gone without a word.
func (l *link) watch(ctx context.Context, c conn) error {
	every := time.NewTicker(l.times.ping)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
		if l.beats {
			l.out.beat()
		}
		pong, cancel := context.WithTimeout(ctx, l.times.pong)
		err := c.ping(pong)
		cancel()
		if err != nil && ctx.Err() == nil {
			return errors.Join(errSilent, err)
		}
	}
}

// readHello reads the first frame of a connection.
func readHello(c conn, within time.Duration) (*wire.Hello, error) {
	late := time.AfterFunc(within, c.abort)
	b, err := c.read()
	if !late.Stop() {
		return nil, errors.New("no hello in time")
	}
	if err != nil {
		return nil, err
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

// writeNow writes a frame outside the session.
func writeNow(c conn, f wire.Frame, within time.Duration) error {
	late := time.AfterFunc(within, c.abort)
	defer late.Stop()
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return c.write(b)
}
