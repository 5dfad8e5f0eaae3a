package freshness

import (
	"slices"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
)

// The session knows what was reported of another program's change. (CTX-8)
func TestTold(t *testing.T) {
	var s State
	s.Observe(Observation{Kind: Read, Path: "a", Version: "v", Time: at(10)})
	s.Observe(Observation{Kind: Seen, Path: "a", Version: "w", Time: at(11)})
	if got := s.Conflicts(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("conflicts %q", got)
	}
	// Reported that it changed, and not how: what it knows is what it read.
	s.Observe(Observation{Kind: Reported, Path: "a", Version: "w", Part: true, Time: at(12)})
	if f, _ := s.File("a", workspace.Stamp{}); f.Version != "v" || f.Reported != "w" || !f.Whole || !f.Conflict() {
		t.Fatalf("%+v", f)
	}
	// Reported how: it knows the new version, though not by line.
	s.Observe(Observation{Kind: Reported, Path: "a", Version: "x", Time: at(13)})
	f, _ := s.File("a", workspace.Stamp{})
	if f.Version != "x" || f.Reported != "" || !f.Whole || f.Status != Fresh || f.Covers("x", Range{1, 1}) || f.Reads != 1 {
		t.Fatalf("%+v", f)
	}
	// A part that was known stays a part.
	s.Observe(Observation{Kind: Read, Path: "b", Version: "v", Lines: Range{1, 5}, Time: at(14)})
	s.Observe(Observation{Kind: Reported, Path: "b", Version: "w", Time: at(15)})
	if f, _ := s.File("b", workspace.Stamp{}); f.Whole || f.Version != "w" {
		t.Fatalf("%+v", f)
	}
	// An observation from before the session's own last access does not count.
	s.Observe(Observation{Kind: Edited, Path: "b", Version: "own", Time: at(20)})
	s.Observe(Observation{Kind: Reported, Path: "b", Version: "w", Time: at(19)})
	s.Observe(Observation{Kind: Reported, Path: "b", Gone: true, Time: at(19)})
	if f, _ := s.File("b", workspace.Stamp{}); f.Version != "own" {
		t.Fatalf("%+v", f)
	}
	// Reported that it is gone, it knows of it no more; of a stranger it never did.
	s.Observe(Observation{Kind: Reported, Path: "b", Gone: true, Time: at(21)})
	s.Observe(Observation{Kind: Reported, Path: "never", Version: "v", Time: at(22)})
	if got := s.Files(); len(got) != 1 || got[0].Path != "a" {
		t.Fatalf("%+v", got)
	}
}

// A tracker reports what it observes, and is brought to what was stored.
func TestWatchAndRestore(t *testing.T) {
	var tr Tracker
	var seen []Observation
	tr.Watch(func(o Observation) { seen = append(seen, o) })
	tr.Observe(Observation{Kind: Read, Path: "a", Version: "v", Time: at(1)})
	tr.InvalidateRead("a")
	tr.Watch(nil)
	tr.TrackRead("b")
	if len(seen) != 2 || seen[0].Kind != Read || seen[1].Kind != Forgot {
		t.Fatalf("%+v", seen)
	}
	tr.Restore(seen[:1])
	if files := tr.Files(); len(files) != 1 || files[0].Path != "a" || !files[0].Whole {
		t.Fatalf("%+v", files)
	}
	var none *Tracker // TRK-8
	none.Watch(nil)
	none.Restore(nil)
}
