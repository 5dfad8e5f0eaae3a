package record_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// The comment of Chain defines the encoding. Another program computed these hashes by that definition.
func TestChainFormat(t *testing.T) {
	at := time.UnixMicro(1700000000123456)
	got := record.Chain(record.Link{}, []record.Entry{
		{Time: at, Kind: record.Intent, Root: "/home/me/project", Session: "s1", Client: "c", CallID: "call_1", Tool: "write_file",
			Path: "ä.go", Bytes: 12, After: "aa", Decision: "approved", By: "person desk", Flags: []string{"unread", "new"}},
		{Time: at, Kind: record.Outcome, Intent: 1, Outcome: record.OK},
	})
	for i, want := range []string{
		"a3154f69945a75edb73ff6ffe67533101012695820ee9cc6a33f9bcb29a46e64",
		"f12fff99b17e79f981f7998334e11f9cf30c3d806b96b734858a7ad6ae50b78f",
	} {
		if got[i].Hash != want {
			t.Errorf("entry %d: %s, want %s", i+1, got[i].Hash, want)
		}
	}
}

// An outcome without its intent breaks the chain, too: the trail does not say what was about to happen.
func TestStrayOutcome(t *testing.T) {
	for _, stray := range [][]record.Entry{
		{{Kind: record.Outcome, Intent: 7}},
		{{Kind: record.Outcome}},
		{{Kind: record.Call}, {Kind: record.Outcome, Intent: 1}},
		{{Kind: record.Intent}, {Kind: record.Outcome, Intent: 1}, {Kind: record.Outcome, Intent: 1}},
	} {
		var m recordtest.Memory
		if _, err := m.Log(t.Context(), stray...); err != nil {
			t.Fatal(err)
		}
		v, err := record.Verify(t.Context(), &m)
		if err != nil || v.Broken == nil || v.Broken.Seq != uint64(len(stray)) || v.Entries != len(stray)-1 {
			t.Errorf("%+v: %+v, %v", stray, v, err)
		}
	}
}

// forged is a trail whose store gives out other entries.
type forged struct {
	record.Trail
	all []record.Entry
}

func (f forged) Entries(_ context.Context, q record.TrailQuery) ([]record.Entry, error) {
	return f.all[min(int(q.After), len(f.all)):], nil
}

// Each entry names the one before it: an entry that was changed and hashed anew, and entries of another trail, break the chain
// though each entry's own hash is right. (FILE-11)
func TestForgedTrail(t *testing.T) {
	chain := func(from record.Link, paths ...string) []record.Entry {
		var all []record.Entry
		for _, p := range paths {
			all = append(all, record.Entry{Kind: record.Call, Path: p})
		}
		return record.Chain(from, all)
	}
	honest := chain(record.Link{}, "a", "b", "c", "d")
	other := chain(record.Link{}, "a", "x", "c", "d")
	for name, c := range map[string]struct {
		entries []record.Entry
		broken  uint64
	}{
		"nothing":          {honest, 0},
		"one changed":      {slices.Concat(honest[:1], chain(honest[0].Link(), "x"), honest[2:]), 3},
		"the first":        {slices.Concat(chain(record.Link{}, "x"), honest[1:]), 2},
		"of another trail": {slices.Concat(honest[:2], other[2:]), 3},
		"the end":          {slices.Concat(honest[:3], other[3:]), 4},
	} {
		v, err := record.Verify(t.Context(), forged{new(recordtest.Memory), c.entries})
		switch {
		case err != nil || (v.Broken == nil) != (c.broken == 0):
			t.Errorf("%s: %+v, %v", name, v, err)
		case v.Broken != nil && (v.Broken.Seq != c.broken || v.Broken.Why != "the entry before it is another one"):
			t.Errorf("%s: %+v", name, v.Broken)
		}
	}
}
