package proxy

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// The rows that wait to be written are bounded in bytes. The newest row stays, because it contains the forms before it.
func TestLateIsBounded(t *testing.T) {
	counts, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{metrics: counts}
	for i := range uint64(100) {
		w.later(lateWrite{rows: record.Batch{Forms: []record.SentForm{{ID: i + 1, Edits: make([]byte, 1<<20)}}}})
	}
	if n := len(w.late); n != maxLate>>20 || w.late[n-1].rows.Forms[0].ID != 100 {
		t.Errorf("%d writes wait, the last is of form %d", n, w.late[n-1].rows.Forms[0].ID)
	}
}

// slowStore needs exactly as long for a write as a request waits for it.
type slowStore struct{ recordtest.Memory }

func (s *slowStore) Append(ctx context.Context, b record.Batch) error {
	time.Sleep(maxNow)
	return s.Memory.Append(ctx, b)
}

// If a write ends at the moment when a request stops waiting for it, the store does not count as one that hangs. Otherwise
// nothing more would be written.
func TestWriteEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		w := newWriter(new(slowStore), Keep{}, slog.New(slog.DiscardHandler), counts)
		for range 200 {
			w.wait(w.writeNow(record.Batch{}, nil, func() {}))
			synctest.Wait()
			if w.hangs.Load() {
				t.Fatal("the writer thinks that a write hangs")
			}
		}
		w.stop()
	})
}
