package guard

import (
	"context"
	"testing"
)

// LIVE-2: what the next request costs is said where a person reads it before the request: when a session goes on, and with a prompt. It is
// said once for each end of a cache, and not to sub-agents.
func TestCostsAreSaidOnce(t *testing.T) {
	r := newRig(t)
	says := ""
	r.Costs = func(_ context.Context, session string, anew bool) string {
		if session != "s" || anew {
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
