// Package ctxlock has a lock whose wait ends with a context. Waiting callers get the lock in their order.
package ctxlock

import "context"

// Lock is a lock, made by New. It may be used concurrently.
type Lock struct{ held chan struct{} }

// New returns a Lock that is free.
func New() Lock { return Lock{make(chan struct{}, 1)} }

// Lock waits until the lock is free, and holds it then. The error is that of ctx.
func (l Lock) Lock(ctx context.Context) error {
	select {
	case l.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock frees the lock, which the caller holds.
func (l Lock) Unlock() { <-l.held }
