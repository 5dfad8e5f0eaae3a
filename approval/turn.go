package approval

import "context"

// turns lets the calls that are about to write to the same file do so one after
// the other, in the order in which they came. It is for fairness, not for
// safety, which compare-and-swap sees to: without it, a call that has to plan
// again loses each race against calls that come fresh. A turn is held while a
// call plans again and applies, never while a person is asked.
type turns map[string]*turn

type turn struct {
	free  chan struct{} // of capacity 1, full while nobody has the turn
	users int           // who has it or waits for it
}

// turn waits for the turn at a path. The function it returns ends it.
func (h *Handler) turn(ctx context.Context, path string) (done func(), err error) {
	h.mu.Lock()
	if h.turns == nil {
		h.turns = turns{}
	}
	t, ok := h.turns[path]
	if !ok {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		h.turns[path] = t
	}
	t.users++
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(h.turns, path)
		}
	}
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
