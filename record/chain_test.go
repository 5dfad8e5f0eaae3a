package record_test

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
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
		var m record.Memory
		if _, err := m.Log(t.Context(), stray...); err != nil {
			t.Fatal(err)
		}
		v, err := record.Verify(t.Context(), &m)
		if err != nil || v.Broken == nil || v.Broken.Seq != uint64(len(stray)) || v.Entries != len(stray)-1 {
			t.Errorf("%+v: %+v, %v", stray, v, err)
		}
	}
}
