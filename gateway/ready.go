package gateway

import (
	"errors"
	"fmt"
)

// Ready says why calls are not taken now; nil: they are.
func (h *Hub) Ready() error {
	h.mu.Lock()
	ending := h.draining || h.closed
	h.mu.Unlock()
	if ending {
		return errors.New("ending: no more calls are taken")
	}
	if err := h.bus.Publish("ready/"+h.address, Message{}); err != nil { // which has no subscribers
		return fmt.Errorf("the bus: %w", err)
	}
	return nil
}
