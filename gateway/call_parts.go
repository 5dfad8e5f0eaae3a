package gateway

import (
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// partFromCaller takes a part of the call's content, for the host. What comes before
// the call is sent is held: no more than may be on its way. (FILE-9)
func (c *call) partFromCaller(f *wire.Part) {
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
		c.sendPart(f)
	}
}

// sendHeld sends the parts that were held. The call itself has been sent.
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

// takenByHost notes that the host has taken parts, and tells the caller.
func (c *call) takenByHost(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.up.take(f)
	c.mu.Unlock()
	if fits {
		own := *f
		c.tell(&own)
	}
}

// partFromHost takes a part of the result's content: for the caller, or to be put
// together here where the caller takes no parts.
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
	case wrong != nil && wrong.code == tool.InvalidArgument: // the fault is the host's
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

// takenByCaller notes that the caller has taken parts, and tells the host. The host is
// not told while there is no room for the content.
func (c *call) takenByCaller(f *wire.Taken) {
	c.mu.Lock()
	fits := c.state == sent && c.down.take(f) && c.hasRoom
	c.mu.Unlock()
	if fits {
		c.sendTaken(f.Seq)
	}
}

// sendTaken tells the host that the parts up to seq were taken.
func (c *call) sendTaken(seq int) {
	if err := c.send(&wire.Taken{CallID: c.f.CallID, Seq: seq}); err != nil {
		c.fail(tool.HostUnavailable, err.Error())
	}
}
