package workspace

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Kept versions go by age only once the clock has shown a time for a day: one
// that jumps ahead by a year does not take away what undo needs. (FILE-12, FILE-15)
func TestKeptAfterClockJump(t *testing.T) {
	const year = 365 * 24 * time.Hour
	tr := newTree(t, Options{})
	v, err := keep(tr.Root, "content")
	if err != nil {
		t.Fatal(err)
	}
	tr.state.pruning.Wait()
	file, _ := tr.state.keptPath(v)
	mark := tr.state.path("kept", "pruned")
	jump := func(by time.Duration, shown time.Duration) { // a clock ahead makes what is there older
		t.Helper()
		at := time.Now().Add(-by)
		times := clockTimes{time.Now().Add(-by), time.Now().Add(-shown)}
		if err := os.WriteFile(mark, []byte(times.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{file, mark} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		tr.state.prune(false)
	}
	jump(year, year)
	if _, err := tr.Kept(v); err != nil {
		t.Errorf("after a jump: %v", err)
	}
	jump(year, time.Hour)
	if _, err := tr.Kept(v); err != nil {
		t.Errorf("an hour after it: %v", err)
	}
	jump(-year, -year)
	if _, err := tr.Kept(v); err != nil {
		t.Errorf("after a jump back: %v", err)
	}
	jump(year, 25*time.Hour)
	if _, err := os.Stat(file); err == nil {
		t.Error("a day after the jump it is still there")
	}
}

// What the clock has shown is believed a day later.
func TestBelieve(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var mark string
	for i, step := range []struct {
		now      time.Duration // since the start
		believed time.Duration // since the start; negative: nothing is old
	}{
		{0, -1}, {time.Hour, -1}, {25 * time.Hour, 0}, {30 * time.Hour, 0}, {50 * time.Hour, 25 * time.Hour},
		{9000 * time.Hour, 50 * time.Hour}, {9001 * time.Hour, 50 * time.Hour}, // a jump, or a long pause
		{60 * time.Hour, 50 * time.Hour}, {30 * time.Hour, 30 * time.Hour}, // put back
		{55 * time.Hour, 30 * time.Hour},
	} {
		got := believe(mark, start.Add(step.now))
		mark = got.String()
		if step.believed < 0 && got.believed.Before(start.AddDate(-100, 0, 0)) {
			continue
		}
		if !got.believed.Equal(start.Add(step.believed)) {
			t.Errorf("step %d: %v is believed, want %v", i, got.believed.Sub(start), step.believed)
		}
	}
	if got := believe(strings.Repeat("x", 10), start); !got.believed.IsZero() {
		t.Errorf("of nonsense: %v", got)
	}
}
