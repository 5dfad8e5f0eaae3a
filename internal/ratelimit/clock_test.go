package ratelimit

import (
	"testing"
	"time"
)

// A clock that is set back or jumps ahead does not delay a caller longer than its rate, and does not allow more than a minute's
// calls. (FILE-10)
func TestRateAfterClockJump(t *testing.T) {
	const perMinute = 60
	start := time.Unix(1_700_000_000, 0) // without the monotonic reading
	for _, jump := range []time.Duration{-365 * 24 * time.Hour, -time.Second, 365 * 24 * time.Hour} {
		l := New(perMinute)
		use := func(now time.Time) (calls int, wait time.Duration) {
			for ; wait == 0 && calls < 1000; calls++ {
				wait, _ = l.Take(now)
			}
			return calls - 1, wait
		}
		use(start)
		calls, wait := use(start.Add(jump))
		if calls > perMinute || wait > time.Second {
			t.Errorf("after a jump of %v: %d calls, then a wait of %v", jump, calls, wait)
		}
		if calls, _ := use(start.Add(jump + time.Minute)); calls != perMinute {
			t.Errorf("a minute after a jump of %v: %d calls", jump, calls)
		}
	}
}
