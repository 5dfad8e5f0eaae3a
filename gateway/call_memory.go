package gateway

import (
	"context"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/tool"
)

// The bytes of calls and answers that the hub holds are taken from budgets: of the
// workspace, of the caller's token, and of the process. A content in parts waits for its
// bytes: the host sends no more than its first part, which is small, until they are
// taken. A result in one frame is there already, and is dropped where there is no room.

const (
	// streamBytes is what a content takes that passes through in parts: those that are
	// on their way, as they are held here and as frames.
	streamBytes = 2 * wire.PartsAhead * wire.PartBytes
	// smallAnswer is how large a result may be, in bytes, that is not counted.
	smallAnswer = 64 << 10
	// answerPatience is how long a content in parts waits for its bytes.
	answerPatience = 25 * time.Second
)

const noRoom = "The gateway holds too many bytes for other calls. Try again in 5.0 s."

// budgets are those of the call's answer.
func (c *call) budgets() []*budget.Budget {
	return []*budget.Budget{c.h.workspaces.Of(c.to), c.h.tokens.Of(c.who.ID), c.h.config.Memory}
}

// takeRequestRoom takes the bytes of a call that has come in a frame, and of the parts
// that come before it is sent. It waits for them for a while, and reports whether it
// has them.
func (c *call) takeRequestRoom() bool {
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
	c.requestRoom = release
	return true
}

// takeContentRoom takes the bytes for a content whose first part has come, and has the
// host go on with it. It waits until there is room, or the call has ended.
func (c *call) takeContentRoom() {
	size := int64(streamBytes)
	if !c.takesParts {
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
	c.answerRoom, c.hasRoom = append(c.answerRoom, release), true
	if !c.takesParts {
		c.down.taken = c.down.next
	}
	taken := c.down.taken
	c.mu.Unlock()
	if taken > 0 {
		c.sendTaken(taken - 1)
	}
}

// putTogether puts the content that came in parts into the result that followed them.
// From here on it takes as many bytes as it has.
func (c *call) putTogether(r *wire.ToolResult) *reason {
	object, ok := c.gathered.Into(r.Result)
	if !ok {
		return &reason{internalError, "The host's content in parts is not whole, or is no text."}
	}
	if exact, err := budget.TryAcquire(int64(len(object)), c.budgets()...); err == nil {
		c.mu.Lock()
		before := c.answerRoom
		c.answerRoom = []func(){exact}
		c.mu.Unlock()
		for _, release := range before {
			release()
		}
	}
	r.Result = object
	return nil
}

// takeAnswer takes the bytes of a result in one frame, if there is room for them.
func (c *call) takeAnswer(r *wire.ToolResult) *reason {
	if len(r.Result) <= smallAnswer {
		return nil
	}
	release, err := budget.TryAcquire(int64(len(r.Result)), c.budgets()...)
	switch {
	case err == nil:
		c.mu.Lock()
		c.answerRoom = append(c.answerRoom, release)
		c.mu.Unlock()
		return nil
	case c.spec.ReadOnly:
		return &reason{tool.RateLimited, noRoom}
	}
	return &reason{tool.RateLimited, "The call was done, but the gateway holds too many bytes to pass its result on: look what it came to."}
}
