package approval

import "testing"

// A call waits for the earlier calls in its lane that touch the same files, and for no other call. A call that leaves does not
// change the order of the others.
func TestLanes(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second *turn
		want          bool // the second waits for the first
	}{
		{"a read behind a write of the file", &turn{path: "a", writes: true}, &turn{path: "a"}, true},
		{"a write behind a read of the file", &turn{path: "a"}, &turn{path: "a", writes: true}, true},
		{"two reads", &turn{path: "a"}, &turn{path: "a"}, false},
		{"two files", &turn{path: "a", writes: true}, &turn{path: "b", writes: true}, false},
		{"a name that begins like another", &turn{path: "a", writes: true}, &turn{path: "ab", writes: true}, false},
		{"a listing behind a write below it", &turn{path: "a/b", writes: true}, &turn{path: "a"}, true},
		{"a write behind a listing above it", &turn{path: "."}, &turn{path: "a", writes: true}, false},
		{"a read below what is removed", &turn{path: "a", writes: true}, &turn{path: "a/b"}, true},
		{"a search of all behind a write", &turn{path: "a", writes: true}, &turn{path: "."}, true},
	} {
		if got := test.second.follows(test.first); got != test.want {
			t.Errorf("%s: waits: %v", test.name, got)
		}
	}

	var o order
	l := lane{sessionLane, "s"}
	first := o.enter(l, "a", true)
	second := o.enter(l, "a", true)
	first.leave()
	first.leave() // further calls do nothing
	if third := o.enter(l, "a", false); len(third.earlier) != 1 || third.earlier[0] != second.left {
		t.Errorf("the third call waits for %d others, want the second alone", len(third.earlier))
	} else {
		third.leave()
	}
	second.leave()
	if len(o.lanes) != 0 {
		t.Errorf("%d lanes are kept of calls that have left", len(o.lanes))
	}
}
