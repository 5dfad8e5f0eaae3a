package gateway

import (
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// part takes a part of the call's content from its caller. What comes before the
// call is sent is held: no more than may be on its way. (FILE-9)
func (c *call) part(f *wire.Part) {
	c.mu.Lock()
	if c.state == ending || c.state == finished {
		c.mu.Unlock()
		return
	}
	wrong := &reason{tool.InvalidArgument, "A part came of a call that has all of its content."}
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
		c.passUp(f)
	}
}

// flow passes on what was held. Who calls it has sent the call.
func (c *call) flow() {
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
			c.passUp(f)
		}
	}
}

func (c *call) passUp(f *wire.Part) {
	own := *f
	own.CallID = c.f.CallID
	if err := c.send(&own); err != nil {
		c.fail(tool.HostUnavailable, err.Error())
	}
}

// passTaken takes from the host that it has taken parts, for the caller.
func (c *call) passTaken(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.up.take(f)
	c.mu.Unlock()
	if fits {
		own := *f
		c.say(&own)
	}
}
