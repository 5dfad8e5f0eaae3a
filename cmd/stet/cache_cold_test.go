package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// What the next request of a session costs is known from its newest request, but not from one before a compaction, also after
// a restart. (LIVE-2)
func TestCacheColdCosts(t *testing.T) {
	records := new(recordtest.Memory)
	row := recordtest.Full("r", "s", time.Now().Add(-2*time.Hour))
	row.Agent, row.Root, row.Model, row.Usage = "", "", "claude-opus-5-5", record.Usage{Input: 10, CacheWrite: 300_000, Output: 10}
	row.Cache.Lifetime = 5 * time.Minute
	if err := records.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} { // each time in another guard
		costs := (&program{}).coldCosts(records, &config.Config{})
		if says := costs(t.Context(), "s", i == 1); strings.Contains(says, "the next request costs about $") != want {
			t.Errorf("%d: %q", i, says)
		}
	}
}
