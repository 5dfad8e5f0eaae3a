package record_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/record"
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
		var m record.Memory
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

// Many entries do not wait for the delay, nor does whoever brings them for the
// trail.
func TestJournalHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m record.Memory
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

// FILE-11: what must be there before something happens is there at once, and
// what happened before it is before it.
func TestJournalNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m record.Memory
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

// flaky is a trail on a disk that is full at times.
type flaky struct {
	record.Memory
	full atomic.Bool
}

var errDisk = errors.New("no space left")

func (f *flaky) Log(ctx context.Context, e ...record.Entry) ([]record.Entry, error) {
	if f.full.Load() {
		return nil, errDisk
	}
	return f.Memory.Log(ctx, e...)
}

// A trail that cannot be written loses nothing, and after a while takes nothing.
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
		time.Sleep(2 * time.Second)
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
