package limits

import (
	"cmp"
	"sync"
	"time"
)

// The first and the longest time between two logged messages of a run. The time doubles each time.
const (
	firstGap = 10 * time.Second
	mostGap  = time.Hour
)

// Repeats decides which messages of a run are logged. A run is a sequence of equal messages. The zero Repeats is ready to use. It may
// be used concurrently.
type Repeats struct {
	// First is the time between the first two messages of a run that are logged;
	// 0 is ten seconds.
	First time.Duration

	mu     sync.Mutex
	text   string
	began  time.Time
	next   time.Time     // when the message may be logged again
	gap    time.Duration // from when it was logged last
	count  int           // messages in the run
	hidden int           // messages since the last logged one
}

// Say reports whether text should be logged now, and how many equal messages were skipped since the last logged one.
func (f *Repeats) Say(text string) (left int, ok bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 || text != f.text {
		f.gap = cmp.Or(f.First, firstGap)
		f.text, f.began, f.next, f.count, f.hidden = text, now, now.Add(f.gap), 1, 0
		return 0, true
	}
	f.count++
	if now.Before(f.next) {
		f.hidden++
		return 0, false
	}
	left, f.hidden = f.hidden, 0
	f.gap = min(2*f.gap, mostGap)
	f.next = now.Add(f.gap)
	return left, true
}

// Run returns the number of messages in this run, and how long ago the first one came.
func (f *Repeats) Run() (count int, ago time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return 0, 0
	}
	return f.count, time.Since(f.began)
}

// Over ends a run: the next message begins a new one. It returns what Run returns.
func (f *Repeats) Over() (count int, ago time.Duration) {
	count, ago = f.Run()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count, f.hidden = 0, 0
	return count, ago
}
