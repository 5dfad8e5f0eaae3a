package ctxlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 4 {
			wait := t.Context()
			if i == 1 {
				wait = ctx
			}
			go func() {
				if err := l.Lock(wait); err != nil {
					if i != 1 || !errors.Is(err, context.Canceled) {
						t.Error(i, err)
					}
					return
				}
				order = append(order, i)
				l.Unlock()
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		if len(order) != 0 {
			t.Error("two hold it:", order)
		}
		l.Unlock()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 2 || order[2] != 3 {
			t.Error(order)
		}
	})
}
