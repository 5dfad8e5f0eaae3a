package freshness

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/workspace"
)

// The German document's tests of the tracker, by name.

func TestHasBeenRead_ReturnsFalse_WhenNotRead(t *testing.T) { // TRK-1
	var k Tracker
	if k.HasBeenRead("a.go") || k.ReadCount("a.go") != 0 {
		t.Error("read before anything was read")
	}
}

func TestHasBeenRead_ReturnsTrue_AfterTrackRead(t *testing.T) { // TRK-1
	var k Tracker
	k.TrackRead("a.go")
	if !k.HasBeenRead("a.go") || k.HasBeenRead("b.go") {
		t.Error("a.go was read, b.go was not")
	}
}

func TestTrackRead_IncrementsCount(t *testing.T) { // TRK-2
	var k Tracker
	for range 3 {
		k.TrackRead("a.go")
	}
	if n := k.ReadCount("a.go"); n != 3 {
		t.Errorf("count %d, want 3", n)
	}
}

func TestInvalidateRead_ResetsState(t *testing.T) { // TRK-3
	var k Tracker
	k.TrackRead("a.go")
	k.InvalidateRead("a.go")
	if k.HasBeenRead("a.go") || k.ReadCount("a.go") != 0 || len(k.ReadFiles()) != 0 {
		t.Error("still read after it was invalidated")
	}
	k.TrackRead("a.go")
	if k.ReadCount("a.go") != 1 {
		t.Error("the count begins again")
	}
}

func TestGetAllReadFiles_ReturnsTrackedPaths(t *testing.T) { // TRK-4
	var k Tracker
	k.TrackRead("b.go")
	k.TrackRead("a.go")
	k.TrackRead("b.go")
	if got := k.ReadFiles(); !slices.Equal(got, []string{"a.go", "b.go"}) {
		t.Errorf("got %q", got)
	}
}

func TestCaseInsensitive_PathComparison(t *testing.T) { // TRK-5
	var k Tracker
	k.TrackRead("src/Main.go")
	if !k.HasBeenRead("SRC/main.GO") || !k.HasBeenRead("./src/Main.go") {
		t.Error("case keeps names apart that have no identity")
	}
	if got := k.ReadFiles(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// TRK-5: never at the price of a wrong answer.
func TestTwoFilesWhoseNamesDifferInCase(t *testing.T) {
	ino := map[string]uint64{"Makefile": 1, "makefile": 2, "README": 3, "readme": 3}
	k := Tracker{Stamp: func(p string) workspace.Stamp { return workspace.Stamp{Dev: 1, Ino: ino[p]} }}
	k.TrackRead("Makefile")
	if k.HasBeenRead("makefile") {
		t.Error("another file is taken for one that was read")
	}
	k.TrackRead("makefile")
	k.TrackRead("makefile")
	if k.ReadCount("Makefile") != 1 || k.ReadCount("makefile") != 2 {
		t.Error("two files share a count")
	}
	k.TrackRead("README")
	if !k.HasBeenRead("readme") {
		t.Error("one file under two spellings is two")
	}
	k.InvalidateRead("makefile")
	if !k.HasBeenRead("Makefile") {
		t.Error("the wrong file was invalidated")
	}
}

func TestNilTracker(t *testing.T) { // TRK-8
	var k *Tracker
	k.TrackRead("a")
	k.InvalidateRead("a")
	k.Observe(Observation{Kind: Read, Path: "a"})
	if k.HasBeenRead("a") || k.ReadFiles() != nil || k.Conflicts() != nil || k.Important(Selection{}) != nil {
		t.Error("a nil tracker remembers")
	}
	if s, err := k.Check(t.Context(), "a", nil); s != Unknown || err != nil {
		t.Error(s, err)
	}
}

// TRK-9: what was shown counts, not the name.
func TestCoversWhatWasShown(t *testing.T) {
	s := Fold([]Observation{
		{Kind: Read, Path: "a", Version: "v1", Lines: Range{1, 50}},
		{Kind: Read, Path: "a", Version: "v1", Lines: Range{60, 100}},
	})
	f, _ := s.File("a", workspace.Stamp{})
	for _, c := range []struct {
		v    workspace.Version
		r    Range
		want bool
	}{
		{"v1", Range{1, 50}, true}, {"v1", Range{10, 20}, true}, {"v1", Range{51, 100}, false},
		{"v1", Range{40, 70}, false}, {"v2", Range{1, 50}, false}, {"", Range{1, 50}, false}, {"v1", Range{}, false},
	} {
		if f.Covers(c.v, c.r) != c.want {
			t.Errorf("%s %v: want %v", c.v, c.r, c.want)
		}
	}
	s.Observe(Observation{Kind: Read, Path: "a", Version: "v1", Lines: Range{50, 0}})
	if f, _ := s.File("a", workspace.Stamp{}); !f.Covers("v1", Range{}) || len(f.Shown) != 1 {
		t.Errorf("shown %v, want all of it", f.Shown)
	}
	s.Observe(Observation{Kind: Read, Path: "a", Version: "v2", Lines: Range{1, 5}})
	if f, _ := s.File("a", workspace.Stamp{}); f.Covers("v2", Range{6, 7}) || f.Covers("v1", Range{1, 2}) {
		t.Error("lines of another version count")
	}
}

// A session knows all of a file once it was shown every line of one version, or
// wrote it; not when it edited what it had seen in part. (TRK-9, CTX-6, CTX-7)
func TestWhole(t *testing.T) {
	read := func(v workspace.Version, first, last int, sec int64) Observation {
		return Observation{Kind: Read, Path: "a", Version: v, Lines: Range{first, last}, Time: at(sec)}
	}
	edited := Observation{Kind: Edited, Path: "a", Version: "v2", Time: at(3)}
	inPart := edited
	inPart.Part = true
	for _, c := range []struct {
		name string
		all  []Observation
		want bool
	}{
		{"whole", []Observation{read("v1", 0, 0, 1)}, true},
		{"a part", []Observation{read("v1", 1, 9, 1)}, false},
		{"by pages", []Observation{read("v1", 10, 0, 1), read("v1", 1, 9, 2)}, true},
		{"pages of two versions", []Observation{read("v1", 1, 9, 1), read("v2", 10, 0, 2)}, false},
		{"without a version", []Observation{read("", 1, 9, 1), read("", 10, 0, 2)}, false},
		{"whole, and a part again", []Observation{read("v1", 0, 0, 1), read("v1", 3, 4, 2)}, true},
		{"whole, and a part of another", []Observation{read("v1", 0, 0, 1), read("v2", 3, 4, 2)}, false},
		{"written", []Observation{edited}, true},
		{"edited in part", []Observation{read("v1", 1, 9, 1), inPart}, false},
		{"and then read", []Observation{inPart, read("v2", 0, 0, 4)}, true},
		{"forgotten", []Observation{read("v1", 0, 0, 1), {Kind: Forgot, Path: "a", Time: at(2)}}, false},
	} {
		if f, ok := Fold(c.all).File("a", workspace.Stamp{}); !ok || f.Whole != c.want {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// A read that began before an own edit, and is delivered after it, shows the
// past: the session knows what it wrote. (CTX-7, TRK-7)
func TestLateRead(t *testing.T) {
	s := Fold([]Observation{
		{Kind: Edited, Path: "a", Version: "v2", Time: at(3)},
		{Kind: Read, Path: "a", Version: "v1", Time: at(2)},
	})
	if f, _ := s.File("a", workspace.Stamp{}); f.Version != "v2" || f.Reads != 0 || !f.Whole {
		t.Errorf("%+v", f)
	}
}

// Ranges added in any order cover exactly the lines added.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines [40]bool
		var ranges Ranges
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			first := rapid.IntRange(1, 30).Draw(t, "first")
			last := first + rapid.IntRange(0, 9).Draw(t, "more")
			ranges = ranges.Add(Range{first, last})
			for i := first; i <= last; i++ {
				lines[i] = true
			}
		}
		for first := 1; first < 40; first++ {
			all := true
			for last := first; last < 40; last++ {
				all = all && lines[last]
				if ranges.Covers(Range{first, last}) != all {
					t.Fatalf("%v covers %d-%d: want %v", ranges, first, last, all)
				}
			}
		}
	})
}

func at(sec int64) time.Time { return time.Unix(1_000_000+sec, 0) }

// sights is a disk.
type sights map[string]Sight

func (m sights) look(_ context.Context, p string, _ workspace.Stamp, _ workspace.Version) (Sight, error) {
	s, ok := m[p]
	if !ok {
		return Sight{Gone: true}, nil
	}
	return s, nil
}

func TestStatuses(t *testing.T) { // CTX-6, CTX-7, CTX-8
	now := at(100)
	k := Tracker{Now: func() time.Time { return now }}
	disk := sights{"a": {Version: "v1"}}
	check := func(want Status) {
		t.Helper()
		now = now.Add(time.Second)
		if got, err := k.Check(t.Context(), "a", disk.look); got != want || err != nil {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	check(Unknown)
	k.Observe(Observation{Kind: Read, Path: "a", Version: "v1", Stamp: workspace.Stamp{Size: 3, Mtime: at(0).UnixNano()}, Time: now})
	if f, _ := k.File("a", workspace.Stamp{}); f.ReadAt != now || f.Stamp.Size != 3 || !f.Settled || f.Status != Fresh {
		t.Errorf("recorded %+v", f)
	}
	check(Fresh)
	disk["a"] = Sight{Version: "v1", Stamp: workspace.Stamp{Mtime: 99}} // touched
	check(Fresh)
	disk["a"] = Sight{Version: "v2"}
	check(Modified)
	if got := k.Conflicts(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("conflicts %q", got)
	}
	disk["a"] = Sight{Version: "v1"} // and back
	check(Fresh)
	delete(disk, "a")
	check(Deleted)
	disk["a"] = Sight{Version: "v3"}
	check(Modified)
	k.Observe(Observation{Kind: Edited, Path: "a", Version: "v4", Time: now})
	if len(k.Conflicts()) != 0 || k.HasBeenRead("a") {
		t.Error("after an own edit: still a conflict, or still read") // CTX-7, TRK-7
	}
	if f, _ := k.File("a", workspace.Stamp{}); f.EditedAt != now {
		t.Error("the time of the edit is not noted")
	}
	disk["a"] = Sight{Version: "v4"}
	check(Fresh)
	disk["a"] = Sight{} // the version is not known
	check(Unknown)
	failed := errors.New("no disk")
	if _, err := k.Check(t.Context(), "a", func(context.Context, string, workspace.Stamp, workspace.Version) (Sight, error) {
		return Sight{}, failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// A look that was overtaken by an own edit finds no conflict.
func TestLateLook(t *testing.T) {
	s := Fold([]Observation{
		{Kind: Read, Path: "a", Version: "v1", Time: at(1)},
		{Kind: Edited, Path: "a", Version: "v2", Time: at(3)},
		{Kind: Seen, Path: "a", Version: "v1", Time: at(2)},
	})
	if len(s.Conflicts()) != 0 {
		t.Error("a conflict with the past")
	}
}

func TestIn(t *testing.T) { // CTX-8 on a real tree
	dir := t.TempDir()
	root, err := workspace.Open(dir, workspace.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	file := filepath.Join(dir, "a.txt")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	p, _ := root.Path("a.txt")
	c, err := root.ReadAll(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var k Tracker
	k.Observe(Observation{Kind: Read, Path: "a.txt", Version: c.Version, Stamp: c.Info.Stamp, Time: time.Now()})
	check := func(want Status) {
		t.Helper()
		if got, err := k.Check(t.Context(), "a.txt", In(root)); got != want || err != nil {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	check(Fresh)
	fi, _ := os.Stat(file)
	write("two\n") // equal size, equal mtime
	if err := os.Chtimes(file, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	check(Modified)
	write("one\n")
	check(Fresh)
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	check(Fresh)
	os.Remove(file)
	check(Deleted)
	os.Mkdir(file, 0o700)
	check(Deleted)
	if got := k.Conflicts(); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("conflicts %q", got)
	}
}

func TestImportant(t *testing.T) { // CTX-9
	var s State
	for i, p := range []string{"a", "node_modules/x/i.js", "b", "web/Node_Modules/y.js", "c", ".git/config", "out/gen", "gone", "vendor"} {
		s.Observe(Observation{Kind: Read, Path: p, Version: "v", Time: at(int64(i))})
	}
	s.Observe(Observation{Kind: Edited, Path: "a", Version: "w", Time: at(20)})
	s.Observe(Observation{Kind: Seen, Path: "gone", Gone: true, Time: at(21)})
	ignored := func(p string) bool { return p == "out/gen" }
	if got, want := s.Important(Selection{Ignored: ignored}), []string{"a", "vendor", "c", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.Important(Selection{Max: 2}); len(got) != 2 {
		t.Errorf("%q: not bounded", got)
	}
	for i := range 30 {
		s.Observe(Observation{Kind: Read, Path: string(rune('A'+i)) + ".x", Version: "v", Time: at(50)})
	}
	if got := s.Important(Selection{}); len(got) != 10 {
		t.Errorf("%d files, want 10", len(got))
	}
}

// An observation is the same after it was stored.
func TestStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Observation{
			Kind:    rapid.SampledFrom([]Kind{Read, Edited, Seen, Forgot, Reported}).Draw(t, "kind"),
			Path:    rapid.SampledFrom([]string{"a", "A", "b/c"}).Draw(t, "path"),
			Version: rapid.SampledFrom([]workspace.Version{"", "v1", "v2"}).Draw(t, "version"),
			Stamp:   workspace.Stamp{Ino: uint64(rapid.IntRange(0, 2).Draw(t, "ino"))},
			Part:    rapid.Bool().Draw(t, "part"),
			Gone:    rapid.Bool().Draw(t, "gone"),
			Lines:   Range{rapid.IntRange(0, 9).Draw(t, "first"), rapid.IntRange(0, 9).Draw(t, "last")},
			Time:    at(int64(rapid.IntRange(0, 20).Draw(t, "time"))).UTC(),
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var stored Observation
		if err := json.Unmarshal(data, &stored); err != nil || stored != o {
			t.Fatal(err, stored, o)
		}
	})
}
