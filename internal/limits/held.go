package limits

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// What sessions and connections hold besides calls, in bytes: those of one token, and all of a server unless it is configured.
const (
	heldOfToken = 8 << 20
	heldOfAll   = 32 << 20
)

// Held limits the bytes of the sessions and connections of each token, and of all together. A token may hold 8 MiB, and no more than
// what it leaves free for the others. So no number of bytes of one token, or of a few, keeps another token out. It may be used
// concurrently.
type Held struct {
	all int64

	mu    sync.Mutex
	of    map[string]int64 // bytes by token
	used  int64
	freed chan struct{} // closed when bytes are given back; nil: no caller waits
}

// NewHeld returns limits of all bytes together; 0: 32 MiB.
func NewHeld(all int64) *Held {
	return &Held{all: cmp.Or(all, heldOfAll), of: map[string]int64{}}
}

// TryAcquire takes n bytes for a token. The error is ErrFull if it may not have them now. release gives them back; further calls do
// nothing.
func (h *Held) TryAcquire(token string, n int64) (release func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	has, free := h.of[token]+n, h.all-h.used-n
	if free < 0 || has > heldOfToken || has > free {
		return nil, fmt.Errorf("%d bytes for this token: %w", n, ErrFull)
	}
	h.of[token] = has
	h.used += n
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.used -= n
		if h.of[token] -= n; h.of[token] == 0 {
			delete(h.of, token)
		}
		if h.freed != nil {
			close(h.freed)
			h.freed = nil
		}
	}), nil
}

// Acquire is TryAcquire, but it waits until the token may have the bytes or ctx ends.
func (h *Held) Acquire(ctx context.Context, token string, n int64) (release func(), err error) {
	for {
		h.mu.Lock()
		if h.freed == nil {
			h.freed = make(chan struct{})
		}
		freed := h.freed
		h.mu.Unlock()
		if release, err = h.TryAcquire(token, n); err == nil {
			return release, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, err
		}
	}
}
