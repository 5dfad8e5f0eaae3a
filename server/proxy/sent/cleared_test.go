package sent

import (
	"testing"

	"github.com/stet-dev/stet/test/recordtest"
)

// WIRE-2: a form records for how many calls results were cleared, also after a restart. A request that clears no more calls adds
// nothing to the form.
func TestClearedIsRemembered(t *testing.T) {
	store := new(recordtest.Memory)
	m := NewMemory(store)
	c := talk(9, "")
	first := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 2})
	ask(t, m, first, c, "one", noon)
	longer := first.Extend(talk(12, ""), Added{From: 20, Edits: nil, Cleared: 3})
	if again := longer.Extend(talk(12, ""), Added{From: 26, Edits: nil, Cleared: 0}); again != longer || first.Extend(c, Added{From: 20, Edits: nil, Cleared: 0}) != first {
		t.Error("a form without new edits was stored as a new one")
	}
	ask(t, m, longer, talk(12, ""), "two", noon)
	for _, m := range []*Memory{m, NewMemory(store)} {
		for n, want := range map[int]int{9: 2, 12: 3} {
			known, err := m.Find(t.Context(), talk(n+1, ""))
			if err != nil || len(known) == 0 {
				t.Fatal(known, err)
			}
			edits, cleared, err := m.Edits(known[0].Form, talk(n+1, ""), known[0].Messages)
			if err != nil || len(edits) != 1 || cleared != want {
				t.Errorf("of %d messages: %d edits, %d cleared, %v", n, len(edits), cleared, err)
			}
		}
	}
}
