package limits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func take(t *testing.T, n int64, b ...*Budget) func() {
	t.Helper()
	release, err := TryAcquire(n, b...)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestAllOrNone(t *testing.T) {
	process, tokens := NewBudget(Process, 10), NewFamily(Token, 6)
	a := take(t, 6, process, tokens.Of("a"))
	if _, err := TryAcquire(5, process, tokens.Of("b")); !errors.Is(err, ErrFull) {
		t.Fatal(err) // the process has 4
	}
	b := take(t, 4, tokens.Of("b"), process) // the refused call has taken nothing
	if _, err := TryAcquire(1, tokens.Of("c"), process); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	a()
	a()
	if _, err := TryAcquire(7, process, tokens.Of("c")); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	take(t, 6, process, tokens.Of("a"))()
	if _, err := TryAcquire(7, process); !errors.Is(err, ErrFull) {
		t.Fatal("releasing twice gave room twice:", err)
	}
	b()
	if len(tokens.in) != 0 {
		t.Errorf("%d entries are left in a family without users", len(tokens.in))
	}
	take(t, 10, nil, process, (*Family)(nil).Of("a"))()
}

func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, workspaces := NewBudget(Process, 10), NewFamily(Workspace, 10)
		first := take(t, 10, process)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			release, err := Acquire(ctx, 4, process, workspaces.Of("w"))
			if err == nil {
				release()
			}
			got <- err
		}()
		synctest.Wait()
		if len(workspaces.in) != 1 {
			t.Fatal("a caller that waits for the process holds no room of the workspace")
		}
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if len(workspaces.in) != 0 {
			t.Fatal("a caller that gave up holds room of the workspace")
		}
		go func() {
			release, err := Acquire(t.Context(), 4, process, workspaces.Of("w"))
			if err == nil {
				release()
			}
			got <- err
		}()
		synctest.Wait()
		first()
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	})
}

// Many callers wait on all levels: each gets its turn, and no limit is exceeded.
func TestNoDeadlock(t *testing.T) {
	process, tokens, workspaces := NewBudget(Process, 10), NewFamily(Token, 7), NewFamily(Workspace, 7)
	var held atomic.Int64
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			b := []*Budget{process, tokens.Of(string(rune('a' + i%3))), workspaces.Of(string(rune('a' + i%2)))}
			if i%2 == 0 {
				b[0], b[2] = b[2], b[0]
			}
			n := int64(1 + i%7)
			for range 20 {
				release, err := Acquire(t.Context(), n, b...)
				if err != nil {
					t.Error(err)
					return
				}
				if held.Add(n) > 10 {
					t.Error("more is held than the limit")
				}
				held.Add(-n)
				release()
			}
		})
	}
	wg.Wait()
	if len(tokens.in)+len(workspaces.in) != 0 {
		t.Error("entries are left")
	}
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process := NewBudget(Process, 10)
		lease := NewLease(process)
		ctx := lease.In(t.Context())
		if err := Take(ctx, 8); err != nil {
			t.Fatal(err)
		}
		kept := 0
		Keep(ctx, func() { kept++ })
		other := NewLease(process)
		if err := Take(other.In(t.Context()), 8); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		if err := Take(other.In(t.Context()), 11); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		gone, cancel := context.WithCancel(other.In(t.Context()))
		cancel()
		if err := Take(gone, 8); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		lease.Release()
		lease.Release()
		if err := Take(other.In(t.Context()), 8); err != nil || kept != 1 {
			t.Error(err, kept)
		}
		Free(other.In(t.Context()))
		if err := Take(other.In(t.Context()), 8); err != nil {
			t.Error("it does not go on:", err)
		}
		other.Release()
		if err := Take(ctx, 8); err != nil { // too late: it is given back at once
			t.Error(err)
		}
		Keep(ctx, func() { kept++ })
		Keep(t.Context(), func() { kept++ })
		if err := Take(t.Context(), 100); err != nil || kept != 3 {
			t.Error(err, kept)
		}
		take(t, 10, process)()
	})
}
