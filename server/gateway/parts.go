package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Content in parts on its way: the hub checks the order of the parts and forwards them; each end sends as many as the other one takes.

// maxContent is the default limit of content in parts, in bytes.
const maxContent = 100 << 20

// stream checks the order of content in parts while the hub forwards them.
type stream struct {
	next  int  // number of the next part
	taken int  // number of taken parts
	size  int  // bytes so far
	whole bool // the last part has come
}

// add records a part. If the part is not allowed, add returns the reason to end the call. limit is in bytes.
func (s *stream) add(f *wire.Part, limit int) *reason {
	switch {
	case s.whole:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came after the last one.", f.Seq)}
	case f.Seq != s.next:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came, but part %d was expected.", f.Seq, s.next)}
	case s.next-s.taken >= wire.PartsAhead:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came too early: at most %d parts may be sent before they are taken.", f.Seq, wire.PartsAhead)}
	case len(f.Data) > limit-s.size:
		return &reason{tool.FileTooLarge, fmt.Sprintf("The content has more than %d bytes.", limit)}
	}
	s.next++
	s.size += len(f.Data)
	s.whole = f.Last
	return nil
}

// take records taken parts, and reports whether the frame is valid.
func (s *stream) take(f *wire.Taken) bool {
	if f.Seq < s.taken || f.Seq >= s.next {
		return false
	}
	s.taken = f.Seq + 1
	return true
}

// window is the sender's side of a stream: it has the number of taken parts. Its zero value is ready to use.
type window struct {
	mu      sync.Mutex
	taken   int
	changed chan struct{} // closed when something changes; nil: no goroutine waits
}

func (w *window) take(f *wire.Taken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = max(w.taken, f.Seq+1)
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// capacity waits until the part seq may be sent.
func (w *window) capacity(ctx context.Context, seq int) error {
	for {
		w.mu.Lock()
		if seq-w.taken < wire.PartsAhead {
			w.mu.Unlock()
			return ctx.Err()
		}
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// aroundPart is the limit of a part frame's bytes besides its data.
const aroundPart = 1024

// firstPart is the size of the first part of a result's content, in bytes. The other parts follow when it was taken. So many
// waiting results hold little memory.
const firstPart = 4 << 10

// sendParts sends content in parts, as fast as they are taken, until ctx ends or reading fails. If first is not 0, the first part
// has at most that many bytes, and the next part is sent after it was taken.
func (s *session) sendParts(ctx context.Context, call string, content io.Reader, w *window, first int) error {
	size := wire.PartBytes
	if limit := int(s.limit.Load()); limit > 0 {
		size = max(1, min(size, (limit-aroundPart)/4*3))
	}
	ahead := bufio.NewReaderSize(content, size)
	for seq := 0; ; seq++ {
		wanted, at := size, seq
		switch {
		case first > 0 && seq == 0:
			wanted = min(size, first)
		case first > 0 && seq == 1:
			at = wire.PartsAhead // there is capacity for it when all parts before it are taken
		}
		if err := w.capacity(ctx, at); err != nil {
			return err
		}
		data := make([]byte, wanted)
		n, err := io.ReadFull(ahead, data)
		if err == nil {
			_, err = ahead.Peek(1)
		}
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if err := s.sendWhenFree(ctx, &wire.Part{CallID: call, Seq: seq, Data: data[:n], Last: last}); err != nil || last {
			return err
		}
	}
}

// partFromCaller handles a part of the call's content and forwards it to the host. Parts that arrive before the call is sent are
// held; their number is limited.
func (c *call) partFromCaller(f *wire.Part) {
	c.mu.Lock()
	if c.state == ending || c.state == finished {
		c.mu.Unlock()
		return
	}
	wrong := &reason{tool.InvalidArgument, "A part came for a call that already has all its content."}
	if c.f.PartsFollow {
		wrong = c.up.add(f, c.h.config.Limits.Content)
	}
	flows := c.flows
	if wrong == nil && !flows {
		c.held = append(c.held, f)
	}
	c.mu.Unlock()
	switch {
	case wrong != nil:
		c.end(wrong)
	case flows:
		c.sendPart(f)
	}
}

// sendHeld sends the held parts. The call itself has been sent.
func (c *call) sendHeld() {
	for {
		c.mu.Lock()
		held := c.held
		c.held = nil
		c.flows = len(held) == 0
		c.mu.Unlock()
		if len(held) == 0 {
			return
		}
		for _, f := range held {
			c.sendPart(f)
		}
	}
}

func (c *call) sendPart(f *wire.Part) {
	own := *f
	own.CallID = c.f.CallID
	if err := c.send(&own); err != nil {
		c.fail(tool.HostUnavailable, err.Error())
	}
}

// takenByHost records that the host has taken parts, and tells the caller.
func (c *call) takenByHost(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.up.take(f)
	c.mu.Unlock()
	if fits {
		own := *f
		c.tell(&own)
	}
}

// partFromHost handles a part of the result's content. It forwards the part, or joins the parts here if the caller takes none.
func (c *call) partFromHost(f *wire.Part) {
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		return
	}
	limit := c.h.config.Limits.Content
	if !c.takesParts {
		limit = c.h.config.Limits.Whole
	}
	wrong := c.down.add(f, limit)
	if wrong == nil && !c.takesParts {
		c.gathered.Add(f.Data)
		if c.hasBytes {
			c.down.taken = c.down.next
		}
	}
	first, hasBytes := f.Seq == 0 && !f.Last, c.hasBytes
	c.mu.Unlock()
	switch {
	case wrong != nil && wrong.code == tool.InvalidArgument: // the host made the error
		c.end(&reason{internalError, "The host's parts do not fit: " + wrong.words})
	case wrong != nil && wrong.code == tool.FileTooLarge && !c.takesParts:
		c.end(&reason{wrong.code, wrong.words + " Read it in parts by start_line and end_line."})
	case wrong != nil:
		c.end(wrong)
	case c.takesParts:
		own := *f
		c.tell(&own)
	case hasBytes:
		c.sendTaken(f.Seq)
	}
	if wrong == nil && first {
		c.h.serving.Go(c.takeContentBytes)
	}
}

// takenByCaller records that the caller has taken parts, and tells the host. It does not tell the host while there is no capacity for
// the content.
func (c *call) takenByCaller(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.down.take(f) && c.hasBytes
	c.mu.Unlock()
	if fits {
		c.sendTaken(f.Seq)
	}
}

// sendTaken tells the host that all parts up to seq were taken.
func (c *call) sendTaken(seq int) {
	if err := c.send(&wire.Taken{CallID: c.f.CallID, Seq: seq}); err != nil {
		c.fail(tool.HostUnavailable, err.Error())
	}
}
