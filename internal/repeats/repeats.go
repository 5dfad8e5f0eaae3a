// Package repeats keeps a log from saying one thing again and again.
package repeats

import (
	"sync"
	"time"
)

// The time between two messages of a run, at first and at most. It doubles each time.
const (
	first = 10 * time.Second
	most  = time.Hour
)

// Filter tells which messages of a run are to be logged. A run is one message that comes
// again and again. The zero Filter is ready. It may be used concurrently.
type Filter struct {
	// First is the time between the first two messages of a run that are logged;
	// 0 is ten seconds.
	First time.Duration

	mu     sync.Mutex
	text   string
	began  time.Time
	next   time.Time     // when the message may be logged again
	gap    time.Duration // from when it was logged last
	count  int           // messages in the run
	hidden int           // of these, those that came since one was logged
}

// Say reports whether text is to be logged now, and how many messages like it were
// left out since it was logged last.
func (f *Filter) Say(text string) (left int, ok bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 || text != f.text {
		f.gap = f.First
		if f.gap == 0 {
			f.gap = first
		}
		f.text, f.began, f.next, f.count, f.hidden = text, now, now.Add(f.gap), 1, 0
		return 0, true
	}
	f.count++
	if now.Before(f.next) {
		f.hidden++
		return 0, false
	}
	left, f.hidden = f.hidden, 0
	f.gap = min(2*f.gap, most)
	f.next = now.Add(f.gap)
	return left, true
}

// Run is how many messages came in this run, and how long ago the first one was.
func (f *Filter) Run() (count int, ago time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return 0, 0
	}
	return f.count, time.Since(f.began)
}

// Over ends a run: what comes next is new. It returns what Run does.
func (f *Filter) Over() (count int, ago time.Duration) {
	count, ago = f.Run()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count, f.hidden = 0, 0
	return count, ago
}
