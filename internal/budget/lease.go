package budget

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long Take waits for room.
const patience = 25 * time.Second

// Lease is what one call holds of some budgets until its answer is on its way. Who
// begins the call makes the lease, puts it into the call's context and releases it at
// the end; who needs bytes for the call takes them with Take.
type Lease struct {
	budgets []*Budget

	mu   sync.Mutex
	held []func()
	over bool
}

// NewLease returns a lease that takes from budgets. It holds nothing yet.
func NewLease(budgets ...*Budget) *Lease { return &Lease{budgets: budgets} }

type leaseKey struct{}

// In returns a context that carries the lease.
func (l *Lease) In(ctx context.Context) context.Context { return context.WithValue(ctx, leaseKey{}, l) }

// Release gives back what is held. More calls do nothing.
func (l *Lease) Release() { l.release(true) }

func (l *Lease) release(over bool) {
	l.mu.Lock()
	held := l.held
	l.held, l.over = nil, l.over || over
	l.mu.Unlock()
	for _, release := range held {
		release()
	}
}

// keep has the lease release something at its end: now, if that has come.
func (l *Lease) keep(release func()) {
	l.mu.Lock()
	over := l.over
	if !over {
		l.held = append(l.held, release)
	}
	l.mu.Unlock()
	if over {
		release()
	}
}

// Take takes n bytes for the lease in ctx, and waits until there is room; without a
// lease it does nothing. The error is ErrTooLarge, ErrFull after patience, or that of
// ctx. A call takes once, with the sum of what it needs: two calls that hold some bytes
// and wait for more would wait for each other.
func Take(ctx context.Context, n int64) error {
	l, ok := ctx.Value(leaseKey{}).(*Lease)
	if !ok {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	release, err := Acquire(waiting, n, l.budgets...)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = ErrFull
		}
		return err
	}
	l.keep(release)
	return nil
}

// Free gives back what the lease in ctx holds, which goes on: the call is about to wait
// for a person, and what it holds meanwhile is counted elsewhere.
func Free(ctx context.Context) {
	if l, ok := ctx.Value(leaseKey{}).(*Lease); ok {
		l.release(false)
	}
}

// Keep has the lease in ctx release something at its end: now, if ctx has no lease.
func Keep(ctx context.Context, release func()) {
	if l, ok := ctx.Value(leaseKey{}).(*Lease); ok {
		l.keep(release)
		return
	}
	release()
}
