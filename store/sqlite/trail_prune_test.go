package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// FILE-11: pruning removes old entries from the trail and leaves a checkpoint from which the chain continues. A suspension that
// is in force stays. New entries stay, at any position.
func TestPruneTrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := open(t, path)
	defer s.Close()
	start := time.Now().UTC().Truncate(time.Microsecond).AddDate(0, 0, -30)
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	log := func(e ...record.Entry) {
		t.Helper()
		if _, err := s.Log(t.Context(), e...); err != nil {
			t.Fatal(err)
		}
	}
	log(
		record.Entry{Kind: record.Suspend, Time: day(0), Session: "still", Flags: []string{"suspicious"}},
		record.Entry{Kind: record.Suspend, Time: day(0), Session: "resumed"},
		record.Entry{Kind: record.Resume, Time: day(1), Session: "resumed"},
		record.Entry{Kind: record.Intent, Time: day(2), Session: "w", Path: "f"},
		record.Entry{Kind: record.Outcome, Time: day(9), Session: "w", Path: "f", Intent: 4, Outcome: record.OK},
		record.Entry{Kind: record.Call, Time: day(1), Session: "r"}, // the clock was set back
		record.Entry{Kind: record.Call, Time: day(10), Session: "r"},
		record.Entry{Kind: record.Call, Time: day(11), Session: "r"},
	)
	known, err := s.Entries(t.Context(), record.TrailQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.PruneTrail(t.Context(), day(5), 5, "policy"); err != nil || n != 3 {
		t.Errorf("with five to stay %d were removed, %v", n, err)
	}
	if n, err := s.PruneTrail(t.Context(), day(5), 1, "policy"); err != nil || n != 1 {
		t.Errorf("%d were removed, %v", n, err)
	}
	if n, err := s.PruneTrail(t.Context(), day(5), 1, "policy"); err != nil || n != 0 {
		t.Errorf("%d were removed once more, %v", n, err)
	}
	left, err := s.Entries(t.Context(), record.TrailQuery{})
	if err != nil || left[0].Seq != 5 || left[0].Prev != known[3].Hash {
		t.Errorf("left: %+v, %v", left, err)
	}
	checkpoint := left[len(left)-1]
	if checkpoint.Kind != record.Prune || checkpoint.Intent != 4 || checkpoint.Before != known[3].Hash || checkpoint.By != "policy" ||
		fmt.Sprint(checkpoint.Flags) != "[1 removed]" {
		t.Errorf("the checkpoint: %+v", checkpoint)
	}
	suspended, err := record.Suspended(t.Context(), s)
	if err != nil || len(suspended) != 1 || suspended[0].Session != "still" || !suspended[0].Time.Equal(day(0)) || suspended[0].Flags[0] != "suspicious" {
		t.Errorf("suspended: %+v, %v", suspended, err)
	}
	v, err := record.Verify(t.Context(), s, known[0].Link(), known[3].Link(), known[6].Link())
	if err != nil || v.Broken != nil || v.Pruned != known[3].Link() || v.Entries != len(left) || len(v.Open) != 0 {
		t.Errorf("verified: %+v, %v", v, err)
	}
	if v, err := record.Verify(t.Context(), s, record.Link{Seq: 4, Hash: strings.Repeat("0", 64)}); err != nil || v.Broken == nil {
		t.Errorf("another entry 4: %+v, %v", v, err)
	}
	log(record.Entry{Kind: record.Intent})

	// An entry that is missing, but was not pruned, is reported.
	damage(t, path, uncut+"DELETE FROM trail WHERE seq <= 5")
	v, err = record.Verify(t.Context(), s)
	if err != nil || v.Broken == nil || !strings.Contains(v.Broken.Why, "entry 5 is missing") {
		t.Errorf("without entry 5: %+v, %v", v, err)
	}
	if n, err := s.PruneTrail(t.Context(), day(100), 1, "policy"); err == nil || n != 0 || !strings.Contains(err.Error(), "is not pruned") {
		t.Errorf("a broken trail: %d were removed, %v", n, err)
	}
}

// An entry that was written when the clock was far ahead does not delay pruning. If the clock is far ahead during pruning, the
// newest entries stay.
func TestPruneTrailClock(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "stet.db"))
	defer s.Close()
	now := time.Now()
	intents(t, s, 1, now.AddDate(70, 0, 0))
	intents(t, s, 3, now.AddDate(-1, 0, 0))
	intents(t, s, 5, now)
	if n, err := s.PruneTrail(t.Context(), now.AddDate(0, -6, 0), 2, "policy"); err != nil || n != 4 {
		t.Errorf("%d were removed, %v", n, err)
	}
	if n, err := s.PruneTrail(t.Context(), now.AddDate(70, 0, 0), 4, "policy"); err != nil || n != 2 {
		t.Errorf("with the clock ahead %d were removed, %v", n, err)
	}
	if v, err := record.Verify(t.Context(), s); err != nil || v.Broken != nil || v.Entries != 5 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A trail with many old entries is pruned in steps.
func TestPruneTrailSteps(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "stet.db"))
	defer s.Close()
	const n = 25_000
	calls := make([]record.Entry, n)
	for i := range calls {
		calls[i] = record.Entry{Kind: record.Call, Time: recordtest.Start}
	}
	if _, err := s.Log(t.Context(), calls...); err != nil {
		t.Fatal(err)
	}
	removed, err := s.PruneTrail(t.Context(), time.Now(), 100, "person desk")
	if err != nil || removed != n-100+2 { // two of the 100 newest entries are checkpoints of the earlier steps
		t.Errorf("%d were removed, %v", removed, err)
	}
	v, err := record.Verify(t.Context(), s)
	if err != nil || v.Broken != nil || v.Pruned.Seq != uint64(removed) {
		t.Errorf("%+v, %v", v, err)
	}
	if len(intents(t, s, 1, time.Now())) != 1 {
		t.Error("nothing can be added")
	}
}

// FILE-12: the remaining writes can be undone as before.
func TestPruneTrailKeepsWrites(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "stet.db"))
	defer s.Close()
	write := func(at time.Time, path, before, after string) {
		t.Helper()
		e := record.Entry{Kind: record.Intent, Time: at, Session: "s", Path: path, Before: before, After: after, Root: "/r"}
		in, err := s.Log(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		e.Kind, e.Intent, e.Outcome = record.Outcome, in[0].Seq, record.OK
		if _, err := s.Log(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	fresh := time.Now().UTC().Truncate(time.Microsecond)
	old := fresh.AddDate(-1, 0, 0)
	write(old, "a", "", "a1")
	write(old, "b", "", "b1")
	write(fresh, "a", "a1", "a2")
	write(fresh, "c", "", "c1")
	if n, err := s.PruneTrail(t.Context(), fresh, 1, "policy"); err != nil || n != 4 {
		t.Errorf("%d were removed, %v", n, err)
	}
	all, err := record.Writes(t.Context(), s, "s", 0)
	if err != nil || len(record.Undoable(all)) != 2 || all[0].Before != "a1" || all[1].Path != "c" {
		t.Errorf("%+v, %v", all, err)
	}
}

// FILE-11: another process may prune an entry of this process a day later. This process continues, and does not write the old
// entry to the anchor again.
func TestPruneTrailOfAnother(t *testing.T) {
	for _, goesOn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stet.db")
			s, other := open(t, path), open(t, path)
			defer other.Close()
			for range 2 { // the second entry is not in the anchor yet
				if _, err := s.Log(t.Context(), record.Entry{Kind: record.Call, Time: time.Now()}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(40 * 24 * time.Hour)
			intents(t, other, 1, time.Now())
			if n, err := other.PruneTrail(t.Context(), time.Now().AddDate(0, 0, -31), 1, "policy"); err != nil || n != 2 {
				t.Errorf("%d were removed, %v", n, err)
			}
			if err := s.CheckTrail(t.Context()); err != nil {
				t.Error(err)
			}
			if goesOn {
				intents(t, s, 1, time.Now())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := other.CheckTrail(t.Context()); err != nil {
				t.Error(err)
			}
			if v, err := record.Verify(t.Context(), other); err != nil || v.Broken != nil {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}
