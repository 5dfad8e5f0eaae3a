package guard

import (
	"context"
	"testing"
	"time"
)

// LIVE-2: what the next request costs is said where a person reads it before the request: when a session goes on, and with a prompt. It is
// said once for each end of a cache, and not to sub-agents.
func TestCostsAreSaidOnce(t *testing.T) {
	r := newRig(t)
	says := ""
	r.Costs = func(_ context.Context, session string, _ time.Time, _ bool) string {
		if session != "s" {
			return ""
		}
		return says
	}
	for i, c := range []struct {
		kind        Kind
		agent, cost string
		want        string
	}{
		{Prompted, "", "", ""},
		{Started, "", "it ended at 14:32", "stet guard: it ended at 14:32"},
		{Prompted, "", "it ended at 14:32", ""},
		{Prompted, "sub", "it ended at 16:00", ""},
		{Prompted, "", "it ended at 16:00", "stet guard: it ended at 16:00"},
		{Stopped, "", "it ended at 17:00", ""},
	} {
		says = c.cost
		if a := r.handle(Event{Kind: c.kind, Session: "s", SubAgent: c.agent}); a.Say != c.want {
			t.Errorf("%d: %q, want %q", i, a.Say, c.want)
		}
	}
}

// LIVE-2: after a compaction the price of the session's next request is not known from the requests before it, also at the next prompts, and also
// if that cannot be stored: Costs is given the time again.
func TestCostsAfterACompaction(t *testing.T) {
	r := newRig(t)
	last, stored := time.Now(), 0 // the newest request of the session
	r.Costs = func(_ context.Context, _ string, since time.Time, anew bool) string {
		if anew {
			stored++
		}
		if last.Before(since) {
			return ""
		}
		return "it ended at 14:32"
	}
	for i, c := range []struct {
		event Event
		want  string
	}{
		{Event{Kind: Started, Anew: true}, ""},
		{Event{Kind: Prompted}, ""},
		{Event{Kind: Prompted, Prompt: "after the next request"}, "stet guard: it ended at 14:32"},
	} {
		if c.event.Session = "s"; c.event.Prompt != "" {
			last = time.Now()
		}
		if a := r.handle(c.event); a.Say != c.want || stored != 1 {
			t.Errorf("%d: %q, want %q; stored %d times", i, a.Say, c.want, stored)
		}
	}
}
