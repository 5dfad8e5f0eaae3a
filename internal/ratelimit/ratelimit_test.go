package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

// A hundred events at once, then one at a time at the rate of a hundred a minute. The wait is exact. (FILE-10)
func TestLimiter(t *testing.T) {
	now := time.Now()
	l := New(100)
	for i := range 100 {
		if wait, before := l.Take(now); wait != 0 || before != 0 {
			t.Fatal(i, wait, before)
		}
	}
	for i := range 3 {
		if wait, before := l.Take(now); wait != 600*time.Millisecond || before != i {
			t.Error(i, wait, before)
		}
	}
	now = now.Add(600 * time.Millisecond)
	if wait, before := l.Take(now); wait != 0 || before != 3 {
		t.Error(wait, before)
	}
	if wait, before := l.Take(now); wait != 600*time.Millisecond || before != 0 {
		t.Error(wait, before)
	}
	for range 1000 {
		if wait, _ := New(-1).Take(now); wait != 0 {
			t.Fatal(wait)
		}
	}
}

func TestKeyed(t *testing.T) {
	now := time.Now()
	k := Keyed{PerMinute: 1}
	for i := range manyKeys {
		if wait, _ := k.Take(fmt.Sprint(i), now); wait != 0 {
			t.Fatal(i, wait)
		}
	}
	if wait, _ := k.Take("0", now); wait != time.Minute {
		t.Error("forgotten too early:", wait)
	}
	now = now.Add(time.Second)
	k.Take("one more", now)
	if len(k.of) != 1 {
		t.Error(len(k.of), "are kept")
	}
	for i := range manyKeys - 1 {
		k.Take(fmt.Sprint(i), now.Add(-time.Hour))
	}
	k.Take("new", now)
	if len(k.of) != 2 {
		t.Error(len(k.of), "are kept, and not those that are not idle")
	}
	if wait, _ := k.Take("one more", now); wait != time.Minute {
		t.Error("forgotten too early:", wait)
	}
	var all Keyed
	for range 1000 {
		if wait, _ := all.Take("x", now); wait != 0 {
			t.Fatal(wait)
		}
	}
}
