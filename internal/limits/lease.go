package limits

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long Take waits for capacity.
const patience = 25 * time.Second

// Lease has the bytes that one call holds of some budgets until its answer is sent. The code that begins the call makes the lease,
// puts it into the call's context and releases it at the end. Code that needs bytes for the call takes them with Take.
type Lease struct {
	budgets []*Budget

	mu   sync.Mutex
	held []func()
	over bool
}

// NewLease returns an empty lease that takes from budgets.
func NewLease(budgets ...*Budget) *Lease { return &Lease{budgets: budgets} }

type leaseKey struct{}

// In returns a context that carries the lease.
func (l *Lease) In(ctx context.Context) context.Context { return context.WithValue(ctx, leaseKey{}, l) }

// Release gives back the held bytes. Further calls do nothing.
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

// keep makes the lease call release at its end, or now if the lease has ended.
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

// Take takes n bytes for the lease in ctx, and waits until there is capacity. Without a lease it does nothing. The error is
// ErrTooLarge, ErrFull after patience, or the error of ctx. A call should take once, for everything it needs: two calls that hold
// some bytes and wait for more would wait for each other.
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

// Free gives back the bytes that the lease in ctx holds; the lease can still be used. A call frees its bytes before it waits for a
// person, because its bytes are counted elsewhere meanwhile.
func Free(ctx context.Context) {
	if l, ok := ctx.Value(leaseKey{}).(*Lease); ok {
		l.release(false)
	}
}

// Keep makes the lease in ctx call release at its end, or calls it now if ctx has no lease.
func Keep(ctx context.Context, release func()) {
	if l, ok := ctx.Value(leaseKey{}).(*Lease); ok {
		l.keep(release)
		return
	}
	release()
}
