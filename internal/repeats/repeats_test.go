package repeats

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Filter
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
		if _, ok := f.Say("another error"); !ok {
			t.Error("another error is not said")
		}
		f.Over()
		if left, ok := f.Say("another error"); !ok || left != 0 {
			t.Error("what came back is not said")
		}
	})
}
