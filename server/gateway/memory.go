package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// The hub takes the bytes of calls and answers from budgets: one of the workspace, one of the caller's token, and one of the
// process. For content in parts, the host sends only a small first part until the bytes are taken. A result in one frame has
// already arrived; it is dropped if there is no capacity.

const (
	// streamBytes is the memory for content that is forwarded in parts: the parts on their way, as parts and as frames.
	streamBytes = 2 * wire.PartsAhead * wire.PartBytes
	// smallAnswer is the largest result, in bytes, that is not counted.
	smallAnswer = 64 << 10
	// answerPatience is how long content in parts waits for its bytes.
	answerPatience = 25 * time.Second
)

const noCapacity = "The gateway holds too many bytes for other calls. Try again in 5.0 s."

// budgets returns the budgets for the call's answer.
func (c *call) budgets() []*limits.Budget {
	return []*limits.Budget{c.h.workspaces.Of(c.to), c.h.tokens.Of(c.who.ID), c.h.config.Memory}
}

// takeRequestBytes takes the bytes of a call in one frame, and of the parts that arrive before it is sent. It waits a limited time,
// and reports whether it took them.
func (c *call) takeRequestBytes() bool {
	size := len(c.f.Arguments)
	if c.f.PartsFollow {
		size += wire.PartsAhead * wire.PartBytes
	}
	if size <= smallAnswer || c.requestBytes != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(c.h.base, patience)
	defer cancel()
	release, err := limits.Acquire(ctx, int64(size), c.h.tokens.Of(c.who.ID), c.h.config.Memory)
	if err != nil {
		return false
	}
	c.requestBytes = release
	return true
}

// frameBytes returns a function that takes capacity for readStep bytes of a token's frame that is read. While the frame is read, they are
// held three times.
func (h *Hub) frameBytes(who Identity) func() (func(), error) {
	return func() (func(), error) {
		ctx, cancel := context.WithTimeout(h.base, patience)
		defer cancel()
		release, err := limits.Acquire(ctx, readStep, h.tokens.Of(who.ID), h.config.Memory)
		if err != nil {
			return nil, errors.New("the gateway holds too many bytes for other calls: try again in 5.0 s")
		}
		return release, nil
	}
}

// takeContentBytes takes the bytes for content whose first part has arrived, and then tells the host to continue. It waits until
// there is capacity or the call has ended.
func (c *call) takeContentBytes() {
	size := int64(streamBytes)
	if !c.takesParts {
		size += 2 * int64(c.h.config.Limits.Whole) // the content as received and as sent
	}
	ctx, cancel := context.WithTimeout(c.ended, answerPatience)
	release, err := limits.Acquire(ctx, size, c.budgets()...)
	cancel()
	if err != nil {
		c.end(&reason{tool.RateLimited, noCapacity})
		return
	}
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		release()
		return
	}
	c.answerBytes, c.hasBytes = append(c.answerBytes, release), true
	if !c.takesParts {
		c.down.taken = c.down.next
	}
	taken := c.down.taken
	c.mu.Unlock()
	if taken > 0 {
		c.sendTaken(taken - 1)
	}
}

// putTogether joins the parts and puts the content into the result that followed them. Then it takes the exact number of bytes.
func (c *call) putTogether(r *wire.ToolResult) *reason {
	object, ok := c.gathered.Into(r.Result)
	if !ok {
		return &reason{internalError, "The host's content in parts is incomplete, or is not text."}
	}
	if exact, err := limits.TryAcquire(int64(len(object)), c.budgets()...); err == nil {
		c.mu.Lock()
		before := c.answerBytes
		c.answerBytes = []func(){exact}
		c.mu.Unlock()
		for _, release := range before {
			release()
		}
	}
	r.Result = object
	return nil
}

// takeAnswer takes the bytes of a result in one frame if there is capacity.
func (c *call) takeAnswer(r *wire.ToolResult) *reason {
	if len(r.Result) <= smallAnswer {
		return nil
	}
	release, err := limits.TryAcquire(int64(len(r.Result)), c.budgets()...)
	switch {
	case err == nil:
		c.mu.Lock()
		c.answerBytes = append(c.answerBytes, release)
		c.mu.Unlock()
		return nil
	case c.spec.ReadOnly:
		return &reason{tool.RateLimited, noCapacity}
	}
	return &reason{tool.RateLimited, "The call was done, but the gateway holds too many bytes to pass its result on: look at the file before you repeat it."}
}
