package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Tokens that hold as much as they can get leave a share for the next one. (FILE-10)
func TestHeldLeavesAShare(t *testing.T) {
	const connection = 48 << 10
	h := NewHeld(0)
	var all int64
	of := map[string]int64{}
	for n := range 8 {
		token := fmt.Sprint(n)
		for {
			if _, err := h.TryAcquire(token, connection); errors.Is(err, ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			of[token] += connection
			all += connection
		}
		if of[token] < connection || of[token] > heldOfToken {
			t.Errorf("token %d holds %d bytes", n, of[token])
		}
	}
	if all > heldOfAll {
		t.Errorf("all hold %d bytes", all)
	}
	if of["0"] < heldOfToken-connection || of["3"] < 3<<20 || of["4"] < 1<<20 {
		t.Errorf("%v", of)
	}
}

// A token that waits gets the bytes when others give them back.
func TestHeldWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHeld(10)
		first, err := h.TryAcquire("a", 5)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.Acquire(short, "b", 3); !errors.Is(err, ErrFull) || short.Err() == nil {
			t.Error(err)
		}
		got := make(chan error)
		go func() {
			release, err := h.Acquire(t.Context(), "b", 3)
			if err == nil {
				release()
				release()
			}
			got <- err
		}()
		synctest.Wait()
		first()
		if err := <-got; err != nil || h.used != 0 || len(h.of) != 0 {
			t.Error(err, h.used, h.of)
		}
	})
}
