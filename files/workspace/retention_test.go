package workspace

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Kept versions become old only after the clock has shown a time for a day. So a clock that jumps ahead by a year does not
// remove what undo needs. (FILE-12, FILE-15)
func TestKeptAfterClockJump(t *testing.T) {
	const year = 365 * 24 * time.Hour
	tr := newTree(t, Options{})
	v, err := keep(tr.Root, "content")
	if err != nil {
		t.Fatal(err)
	}
	tr.state.versions.pruning.Wait()
	file, _ := tr.state.versions.file(v)
	mark := tr.state.path("kept", "pruned")
	jump := func(by time.Duration, shown time.Duration) { // a clock ahead makes existing files older
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
		tr.state.versions.prune(false)
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

// A time that the clock has shown becomes trusted a day later.
func TestClockTimes(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var mark string
	for i, step := range []struct {
		now     time.Duration // since the start
		trusted time.Duration // since the start; negative: nothing is old
	}{
		{0, -1}, {time.Hour, -1}, {25 * time.Hour, 0}, {30 * time.Hour, 0}, {50 * time.Hour, 25 * time.Hour},
		{9000 * time.Hour, 50 * time.Hour}, {9001 * time.Hour, 50 * time.Hour}, // the clock has jumped, or there was a long pause
		{60 * time.Hour, 50 * time.Hour}, {30 * time.Hour, 30 * time.Hour}, // the clock was set back
		{55 * time.Hour, 30 * time.Hour},
	} {
		got := advance(mark, start.Add(step.now))
		mark = got.String()
		if step.trusted < 0 && got.trusted.Before(start.AddDate(-100, 0, 0)) {
			continue
		}
		if !got.trusted.Equal(start.Add(step.trusted)) {
			t.Errorf("step %d: %v is trusted, want %v", i, got.trusted.Sub(start), step.trusted)
		}
	}
	if got := advance(strings.Repeat("x", 10), start); !got.trusted.IsZero() {
		t.Errorf("of nonsense: %v", got)
	}
}
