package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// full is a store that cannot be written to.
type full struct{ record.Store }

func (full) Append(context.Context, record.Batch) error { return errors.New("no space left") }

// What the next request of a session costs is known from its newest request, but not from one before a compaction: in the same guard also if the
// compaction could not be stored, and after a restart if it was. (LIVE-2)
func TestCacheColdCosts(t *testing.T) {
	records := new(recordtest.Memory)
	row := recordtest.Full("r", "s", time.Now().Add(-2*time.Hour))
	row.Agent, row.Root, row.Model, row.Usage = "", "", "claude-opus-5-5", record.Usage{Input: 10, CacheWrite: 300_000, Output: 10}
	row.Cache.Lifetime = 5 * time.Minute
	if err := records.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		store record.Store
		since time.Time // what the guard knows
		anew  bool
		says  bool
	}{
		{records, time.Time{}, false, true},
		{full{records}, time.Now(), true, false},
		{full{records}, time.Now(), false, false},
		{records, time.Time{}, false, true},
		{records, time.Now(), true, false},
		{records, time.Time{}, false, false},
	} {
		costs := (&program{}).coldCosts(c.store, &config.Config{}, slog.New(slog.DiscardHandler)) // each time in another guard
		if got := costs(t.Context(), "s", c.since, c.anew); strings.Contains(got, "the next request costs about $") != c.says {
			t.Errorf("%d: %q", i, got)
		}
	}
}
