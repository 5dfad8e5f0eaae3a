package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// What the next request of a session costs is known from its newest request, but not from one before a compaction. (LIVE-2)
func TestCacheColdCosts(t *testing.T) {
	records := new(recordtest.Memory)
	row := recordtest.Full("r", "s", time.Now().Add(-2*time.Hour))
	row.Agent, row.Root, row.Model, row.Usage = "", "", "claude-opus-5-5", record.Usage{Input: 10, CacheWrite: 300_000, Output: 10}
	row.Cache.Lifetime = 5 * time.Minute
	if err := records.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Fatal(err)
	}
	costs := (&program{}).coldCosts(records, &config.Config{})
	if says := costs(t.Context(), "s", time.Time{}); !strings.Contains(says, "the next request costs about $") {
		t.Errorf("%q", says)
	}
	if says := costs(t.Context(), "s", time.Now().Add(-time.Hour)); says != "" {
		t.Errorf("after a compaction: %q", says)
	}
}
