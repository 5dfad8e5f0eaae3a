package record

import (
	"fmt"
	"testing"
)

// TestSettle: what the file holds says whether the writes of a killed process were done. (FILE-12)
func TestSettle(t *testing.T) {
	done := func(seq uint64, before, after string) Write { return Write{Seq: seq, Before: before, After: after} }
	cut := func(seq uint64, before, after string) Write {
		return Write{Seq: seq, Before: before, After: after, Open: true}
	}
	for _, tt := range []struct {
		writes []Write
		now    string
		want   string
	}{
		{[]Write{done(1, "a", "b"), cut(2, "b", "c")}, "c", "[1 2]"},
		{[]Write{done(1, "a", "b"), cut(2, "b", "c")}, "b", "[1]"},
		{[]Write{done(1, "a", "b"), cut(2, "b", "c")}, "x", "[1 2]"}, // nothing shows it
		{[]Write{cut(1, "", "b")}, "", "[]"},
		{[]Write{cut(1, "a", "b"), done(2, "b", "c")}, "c", "[1 2]"},
		{[]Write{cut(1, "a", "b"), done(2, "a", "c")}, "c", "[2]"},
		{[]Write{cut(1, "a", "b"), cut(2, "b", "c"), cut(3, "c", "d")}, "c", "[1 2]"},
	} {
		got := []uint64{}
		for _, w := range Settle(tt.writes, tt.now) {
			got = append(got, w.Seq)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%+v, now %q: %v, want %s", tt.writes, tt.now, got, tt.want)
		}
	}
}

// A write that was cut off before it was done does not stand in the way of an undo. (FILE-12)
func TestUndoableAfterKill(t *testing.T) {
	all := []Write{
		{Seq: 1, Tool: "write_file", Path: "f", Before: "a", After: "b"},
		{Seq: 2, Tool: "write_file", Path: "f", Before: "b", After: "c", Open: true},
		{Seq: 3, Tool: "undo", Path: "f", Before: "b", After: "a"},
	}
	if left := Undoable(all); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}
