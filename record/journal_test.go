package record_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

func paths(t *testing.T, trail record.Trail) (out []string) {
	t.Helper()
	entries, err := trail.Entries(t.Context(), record.TrailQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func want(t *testing.T, trail record.Trail, want ...string) {
	t.Helper()
	if got := paths(t, trail); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in the trail: %q, want %q", got, want)
	}
}

// FILE-11: reads are audited in batches of at most a second.
func TestJournalBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m recordtest.Memory
		j := &record.Journal{Trail: &m}
		start := time.Now()
		later(t, j, "a")
		time.Sleep(300 * time.Millisecond)
		later(t, j, "b")
		synctest.Wait()
		want(t, &m)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		want(t, &m, "a", "b")
		later(t, j, "c")
		time.Sleep(time.Second)
		want(t, &m, "a", "b", "c")
		entries, err := m.Entries(t.Context(), record.TrailQuery{})
		if err != nil || !entries[1].Time.Equal(start.Add(300*time.Millisecond)) {
			t.Errorf("the time is not that of the operation: %v, %v", entries[1].Time, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Many entries are written without the delay. The caller that adds them does not wait for the trail.
func TestJournalHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m recordtest.Memory
		j := &record.Journal{Trail: &m, Delay: time.Hour}
		for range 249 {
			later(t, j, "a")
		}
		synctest.Wait()
		want(t, &m)
		later(t, j, "a")
		synctest.Wait()
		if n := len(paths(t, &m)); n != 250 {
			t.Errorf("%d entries are in the trail", n)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FILE-11: Now writes its entry at once, and after the entries that waited.
func TestJournalNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m recordtest.Memory
		j := &record.Journal{Trail: &m}
		later(t, j, "a")
		e, err := j.Now(t.Context(), record.Entry{Kind: record.Intent, Path: "b"})
		if err != nil || len(e) != 1 || e[0].Seq != 2 || e[0].Hash == "" {
			t.Errorf("%+v, %v", e, err)
		}
		want(t, &m, "a", "b")
		later(t, j, "c")
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		want(t, &m, "a", "b", "c")
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if err := j.Later(record.Entry{}); !errors.Is(err, record.ErrClosed) {
			t.Error(err)
		}
	})
}

// flaky is a trail that cannot be written while full or lost is set.
type flaky struct {
	recordtest.Memory
	full atomic.Bool
	lost atomic.Bool
}

var errDisk = errors.New("no space left")

func (f *flaky) Log(ctx context.Context, e ...record.Entry) ([]record.Entry, error) {
	if f.full.Load() {
		return nil, errDisk
	}
	if f.lost.Load() {
		return nil, record.ErrLost
	}
	return f.Memory.Log(ctx, e...)
}

// While the trail cannot be written, waiting entries are kept. After a while no more entries are taken.
func TestJournalKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flaky
		f.full.Store(true)
		j := &record.Journal{Trail: &f, Delay: time.Second}
		later(t, j, "a")
		if _, err := j.Now(t.Context(), record.Entry{Kind: record.Intent, Path: "b"}); !errors.Is(err, errDisk) {
			t.Errorf("an intent on a full disk: %v", err)
		}
		time.Sleep(10 * time.Second)
		later(t, j, "c")
		f.full.Store(false)
		time.Sleep(6 * time.Second)
		want(t, &f, "a", "c")

		f.full.Store(true)
		var err error
		for i := 0; err == nil && i < 20_000; i++ {
			err = j.Later(record.Entry{})
		}
		if err == nil {
			t.Error("it takes entries without end")
		}
		if err := j.Close(); !errors.Is(err, errDisk) {
			t.Errorf("close: %v", err)
		}
	})
}

// If a trail cannot be written for an hour, that is logged a few times, with the number of failures. It is logged once more
// when the trail can be written again.
func TestJournalReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flaky
		var said strings.Builder
		j := &record.Journal{Trail: &f, Log: slog.New(slog.NewTextHandler(&said, nil))}
		f.full.Store(true)
		for range 3600 {
			later(t, j, "a")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if len(lines) != 6 || !strings.Contains(lines[0], "no space left") { // after 0, 1, 3, 7, 15 and 31 minutes
			t.Errorf("%d lines: %q", len(lines), lines[:min(len(lines), 10)])
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "after=31m") || !strings.Contains(last, "failures=") {
			t.Errorf("the last line: %s", last)
		}
		said.Reset()
		f.full.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(paths(t, &f)); n != 3600 {
			t.Errorf("%d entries are in the trail", n)
		}
		if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "it can be written again") {
			t.Errorf("on recovery: %q", said.String())
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FILE-11: after the trail has lost entries, Later refuses entries too, until the trail is restored.
func TestJournalLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flaky
		j := &record.Journal{Trail: &f}
		f.lost.Store(true)
		if _, err := j.Now(t.Context(), record.Entry{Kind: record.Intent, Path: "a"}); !errors.Is(err, record.ErrLost) {
			t.Error(err)
		}
		if err := j.Later(record.Entry{Kind: record.Call, Path: "b"}); !errors.Is(err, record.ErrLost) {
			t.Error(err)
		}
		f.lost.Store(false)
		later(t, j, "c")
		later(t, j, "d")
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		want(t, &f, "c", "d")
	})
}

func TestJournalZero(t *testing.T) {
	var j record.Journal
	later(t, &j, "a")
	if _, err := j.Now(t.Context(), record.Entry{}); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func later(t *testing.T, j *record.Journal, path string) {
	t.Helper()
	if err := j.Later(record.Entry{Kind: record.Call, Path: path}); err != nil {
		t.Fatal(err)
	}
}
