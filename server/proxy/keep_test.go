package proxy

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// A clock that jumps ahead by a year does not delete the record. stet only believes a time if there is a row that is a day older.
func TestKeepAfterClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m recordtest.Memory
		counts, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		w := newWriter(&m, Keep{}, slog.New(slog.DiscardHandler), counts)
		add := func(id string, at time.Time) {
			w.add(record.Batch{Requests: []record.Request{{ID: id, Time: at}}})
			time.Sleep(pruneEvery + time.Second)
			synctest.Wait()
		}
		left := func(want int) {
			t.Helper()
			if rows, err := m.Requests(t.Context(), record.Query{}); err != nil || len(rows) != want {
				t.Errorf("%d rows are left, want %d, %v", len(rows), want, err)
			}
		}
		add("before the jump", time.Now().AddDate(-1, 0, 0)) // before the jump the clock was a year behind
		add("after it", time.Now())
		left(2)
		time.Sleep(believeAfter)
		add("a day later", time.Now())
		left(2)
		w.stop()
	})
}
