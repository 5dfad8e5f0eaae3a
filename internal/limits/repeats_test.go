package limits

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Repeats
		var said []string
		began := time.Now()
		for time.Since(began) < 3*time.Minute {
			if left, ok := f.Say("the disk is full"); ok {
				said = append(said, fmt.Sprintf("%v+%d", time.Since(began), left))
			}
			time.Sleep(500 * time.Millisecond)
		}
		if got := strings.Join(said, " "); got != "0s+0 10s+19 30s+39 1m10s+79 2m30s+159" {
			t.Error(got)
		}
		if count, ago := f.Run(); count != 360 || ago != 3*time.Minute {
			t.Errorf("%d messages in %v", count, ago)
		}
		if _, ok := f.Say("another error"); !ok {
			t.Error("another error is not said")
		}
		if count, ago := f.Over(); count != 1 || ago != 0 {
			t.Errorf("%d messages in %v", count, ago)
		}
		if count, ago := f.Run(); count != 0 || ago != 0 {
			t.Errorf("a run of %d in %v goes on", count, ago)
		}
		if left, ok := f.Say("another error"); !ok || left != 0 {
			t.Error("what came back is not said")
		}
	})
}
