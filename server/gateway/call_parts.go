package gateway

import (
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// partFromCaller handles a part of the call's content and forwards it to the host. Parts that arrive before the call is sent are
// held; their number is limited. (FILE-9)
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
		if c.hasRoom {
			c.down.taken = c.down.next
		}
	}
	first, hasRoom := f.Seq == 0 && !f.Last, c.hasRoom
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
	case hasRoom:
		c.sendTaken(f.Seq)
	}
	if wrong == nil && first {
		c.h.serving.Go(c.takeContentRoom)
	}
}

// takenByCaller records that the caller has taken parts, and tells the host. It does not tell the host while there is no room for
// the content.
func (c *call) takenByCaller(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.down.take(f) && c.hasRoom
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
