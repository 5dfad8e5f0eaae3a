package guard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// The calls that ran while no guard did are in the trail, but for those that only look, those that were recorded, and those of stet's own tools. Each
// agent's next session says so, once. (GRD-2)
func TestOff(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	trail := new(recordtest.Memory)
	if _, err := trail.Log(t.Context(), record.Entry{Kind: record.Changed, Time: now.Add(-time.Hour), CallID: "recorded"}); err != nil {
		t.Fatal(err)
	}
	call := func(id, tool, command string, ago time.Duration) Passed {
		return Passed{Event{Agent: "claude", Session: "s", Call: id, Tool: tool, Input: shell(command), Dir: dir}, now.Add(-ago)}
	}
	store, err := snapshot.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Store: store, Trail: trail, Off: func(context.Context) Off {
		return Off{now.Add(-time.Hour), now, []Passed{
			call("before", "Bash", "rm x", 2*time.Hour), call("recorded", "Bash", "rm x", time.Hour), call("rm", "Bash", "rm x", time.Minute), call("look", "Bash", "git status", time.Minute),
			call("open", "Bash", "rm x", time.Hour+OffMargin/2), call("own", "mcp__stet__write_file", "", time.Minute), call("write", "Write", "", time.Second), call("later", "Bash", "rm x", -time.Minute), call("rm", "Bash", "rm x", time.Minute),
		}}
	}})
	for i, want := range []bool{true, false} {
		a, err := g.Handle(t.Context(), Event{Kind: Started, Agent: "claude", Session: fmt.Sprint(i), Dir: dir})
		if err != nil || strings.Contains(a.Say, "(1h0m0s); what these calls did then cannot be undone: claude Bash ×2, claude Write ×1") != want {
			t.Error(i, a, err)
		}
	}
	// The end of a call that began without a guard is no second entry.
	if _, err := g.Handle(t.Context(), Event{Kind: After, Agent: "claude", Session: "0", Call: "rm", Tool: "Bash", Input: shell("rm x"), Dir: dir}); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := trail.Entries(t.Context(), record.TrailQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Tool+" "+e.CallID)
	}
	if want := " recorded, Bash rm, Bash open, Write write, off "; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
