package toolset

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// After a clock has jumped ahead, servers do not prune the trail until entries have shown the new time for a day. (FILE-11)
func TestTrailAfterClockJump(t *testing.T) {
	trail, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	log := func(n int, at time.Time) {
		t.Helper()
		entries := make([]record.Entry, n)
		for i := range entries {
			entries[i] = record.Entry{Kind: record.Call, Time: at}
		}
		if _, err := trail.Log(t.Context(), entries...); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	log(newestEntries+10, now.AddDate(-1, 0, 0))
	log(5, now.Add(-time.Hour))
	if n, err := pruneTrail(t.Context(), trail, 180); err != nil || n != 0 {
		t.Errorf("an hour after a jump %d were removed, %v", n, err)
	}
	log(5, now.Add(-25*time.Hour))
	if n, err := pruneTrail(t.Context(), trail, 180); err != nil || n != 20 {
		t.Errorf("a day after it %d were removed, %v", n, err)
	}
}
