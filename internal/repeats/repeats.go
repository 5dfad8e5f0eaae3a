// Package repeats keeps a log from saying one thing again and again.
package repeats

import (
	"sync"
	"time"
)

// The time between two messages that are the same, at first and at most: it doubles
// each time.
const (
	first = 10 * time.Second
	most  = time.Hour
)

// Filter tells which of a run of messages are to be logged. The zero Filter is ready.
// It may be used concurrently.
type Filter struct {
	mu   sync.Mutex
	said string
	next time.Time     // when it may be said again
	gap  time.Duration // until then, from when it was said last
	left int           // messages that were left out since
}

// Say reports whether text is to be logged now, and how many messages like it were
// left out since it was logged last.
func (f *Filter) Say(text string) (left int, ok bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if text != f.said {
		f.said, f.gap, f.left = text, first, 0
		f.next = now.Add(f.gap)
		return 0, true
	}
	if now.Before(f.next) {
		f.left++
		return 0, false
	}
	left, f.left = f.left, 0
	f.gap = min(2*f.gap, most)
	f.next = now.Add(f.gap)
	return left, true
}

// Over ends a run: what comes next is new.
func (f *Filter) Over() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said, f.left = "", 0
}
