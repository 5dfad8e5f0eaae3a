package gateway

import (
	"context"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/tool"
)

// The bytes of answers that the hub holds are taken from budgets: of the workspace, of
// the caller's token, and of the process. A content in parts waits for its bytes: the
// host sends no more than its first part, which is small, until that is taken. A result
// in one frame is there already, and is let go of where there is no room for it.

const (
	// streamBytes is what a content takes that passes through in parts: those that are
	// on their way, as they are held here and as frames.
	streamBytes = 2 * wire.PartsAhead * wire.PartBytes
	// smallAnswer is how large a result may be, in bytes, that is not counted.
	smallAnswer = 64 << 10
	// answerPatience is how long a content in parts waits for its bytes.
	answerPatience = 15 * time.Second
)

const noRoom = "The gateway holds too many bytes for other calls. Try again in 5.0 s."

// budgets are those of a call.
func (c *call) budgets() []*budget.Budget {
	return []*budget.Budget{c.h.workspaces.Of(c.to), c.h.tokens.Of(c.who.ID), c.h.config.Memory}
}

// hold takes the bytes of a call that has come in a frame, and of the parts that come
// before it is sent. It waits for them for a while, and reports whether it has them.
func (c *call) hold() bool {
	size := len(c.f.Arguments)
	if c.f.PartsFollow {
		size += wire.PartsAhead * wire.PartBytes
	}
	if size <= smallAnswer {
		return true
	}
	ctx, cancel := context.WithTimeout(c.h.base, patience)
	defer cancel()
	release, err := budget.Acquire(ctx, int64(size), c.h.tokens.Of(c.who.ID), c.h.config.Memory)
	if err != nil {
		return false
	}
	c.letGo = release
	return true
}

// ground takes the bytes for a content whose first part has come, and has the host go
// on with it. It waits until there is room, or the call has ended.
func (c *call) ground() {
	size := int64(streamBytes)
	if !c.takes {
		size += 2 * int64(c.h.config.Limits.Whole) // the content as it comes, and as it goes out
	}
	ctx, cancel := context.WithTimeout(c.ended, answerPatience)
	release, err := budget.Acquire(ctx, size, c.budgets()...)
	cancel()
	if err != nil {
		c.end(&reason{tool.RateLimited, noRoom})
		return
	}
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		release()
		return
	}
	c.rooms, c.grounded = append(c.rooms, release), true
	if !c.takes {
		c.down.taken = c.down.next
	}
	taken := c.down.taken
	c.mu.Unlock()
	if taken > 0 {
		c.tookDown(taken - 1)
	}
}

// tookDown tells the host that parts up to seq were taken.
func (c *call) tookDown(seq int) {
	if err := c.send(&wire.Taken{CallID: c.f.CallID, Seq: seq}); err != nil {
		c.fail(tool.HostUnavailable, err.Error())
	}
}

// passDown takes a part of the result's content from the host: for the caller, or,
// where that takes none, to put them together here.
func (c *call) passDown(f *wire.Part) {
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		return
	}
	limit := c.h.config.Limits.Content
	if !c.takes {
		limit = c.h.config.Limits.Whole
	}
	wrong := c.down.add(f, limit)
	if wrong == nil && !c.takes {
		c.gathered.Add(f.Data)
		if c.grounded {
			c.down.taken = c.down.next
		}
	}
	first, grounded := f.Seq == 0 && !f.Last, c.grounded
	c.mu.Unlock()
	switch {
	case wrong != nil && wrong.code == tool.InvalidArgument: // the fault is the host's
		c.end(&reason{internalError, "The host's parts do not fit: " + wrong.words})
	case wrong != nil && wrong.code == tool.FileTooLarge && !c.takes:
		c.end(&reason{wrong.code, wrong.words + " Read it in parts by start_line and end_line."})
	case wrong != nil:
		c.end(wrong)
	case c.takes:
		own := *f
		c.say(&own)
	case grounded:
		c.tookDown(f.Seq)
	}
	if wrong == nil && first {
		c.h.serving.Go(c.ground)
	}
}

// taken takes from the caller that it has taken parts, for the host. While there is no
// room for the content, the host is not told.
func (c *call) taken(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.down.take(f) && c.grounded
	c.mu.Unlock()
	if fits {
		c.tookDown(f.Seq)
	}
}

// whole is the result that the host sent behind its parts, with the content that was
// put together. What was taken for it is as much as it has from here on.
func (c *call) whole(r *wire.ToolResult) *wire.ToolResult {
	object, ok := c.gathered.Into(r.Result)
	if !ok {
		return failure(internalError, "The host's content in parts is not whole, or is no text.")
	}
	if exact, err := budget.TryAcquire(int64(len(object)), c.budgets()...); err == nil {
		c.mu.Lock()
		before := c.rooms
		c.rooms = []func(){exact}
		c.mu.Unlock()
		for _, release := range before {
			release()
		}
	}
	c.owns = true
	return &wire.ToolResult{CallID: r.CallID, Result: object}
}

// counted is a result in one frame, if there is room for it; else it says so.
func (c *call) counted(r *wire.ToolResult) *wire.ToolResult {
	if len(r.Result) <= smallAnswer {
		return r
	}
	release, err := budget.TryAcquire(int64(len(r.Result)), c.budgets()...)
	switch {
	case err == nil:
		c.mu.Lock()
		c.rooms = append(c.rooms, release)
		c.mu.Unlock()
		return r
	case c.spec.ReadOnly:
		return failure(tool.RateLimited, noRoom)
	}
	return failure(tool.RateLimited, "The call was done, but the gateway holds too many bytes to pass its result on: look what it came to.")
}
