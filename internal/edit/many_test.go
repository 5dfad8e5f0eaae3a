package edit

import (
	"errors"
	"fmt"
	"index/suffixarray"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestIndexFindsTheSame: an index finds the same places as a search without it.
func TestIndexFindsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "aa", "ab", "\n", "\r\n", "\r", "é"}
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))])
		}
		return b.String()
	}
	for range 300 {
		plain := newFile([]byte(random(60)))
		indexed := newFile(plain.data)
		indexed.index = suffixarray.New(indexed.flat)
		for range 40 {
			text := random(1 + rng.IntN(4))
			for _, limit := range []int{-1, 1, 3} {
				for _, overlapping := range []bool{false, true} {
					want, _ := plain.find(text, limit, overlapping)
					got, _ := indexed.find(text, limit, overlapping)
					if !slices.Equal(got, want) {
						t.Fatalf("%q in %q, limit %d, overlapping %v: %v, want %v", text, plain.data, limit, overlapping, got, want)
					}
				}
			}
		}
	}
}

// TestManyEdits: with many edits, in either order, an index is built, and the result is correct.
func TestManyEdits(t *testing.T) {
	const n = 2 * manyEdits
	var text, want strings.Builder
	var edits []Edit
	for i := range n {
		fmt.Fprintf(&text, "line %04d\r\n", i)
		fmt.Fprintf(&want, "row %04d\r\n", i)
		edits = append(edits, Edit{Old: fmt.Sprintf("line %04d\n", i), New: fmt.Sprintf("row %04d\n", i)})
	}
	slices.Reverse(edits)
	r, err := Apply([]byte(text.String()), edits)
	if err != nil || string(r.Data) != want.String() || len(r.Spans) != n {
		t.Fatalf("%d spans, %v", len(r.Spans), err)
	}
	edits[n/2].Old = "line 00"
	var e *Error
	if _, err = Apply([]byte(text.String()), edits); !errors.As(err, &e) || e.Reason != Ambiguous || e.Edit != n/2 || e.Matches != 100 || e.Lines[1] != 2 {
		t.Errorf("got %v", err)
	}
	edits[n/2].Old = "no such line"
	if _, err = Apply([]byte(text.String()), edits); !errors.As(err, &e) || e.Reason != NotFound || e.Edit != n/2 {
		t.Errorf("got %v", err)
	}
}

// TestManyOverlaps: not all overlapping matches are searched, because there may be many more of them than bytes in the file.
func TestManyOverlaps(t *testing.T) {
	data := []byte(strings.Repeat("0123456789\n", 2000))
	edits := make([]Edit, 2000)
	for i := range edits {
		edits[i] = Edit{Old: fmt.Sprint(i % 10), New: "x", All: true}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Apply(data, edits)
	runtime.ReadMemStats(&after)
	if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != Overlap || e.Edit != 10 || e.Other != 0 {
		t.Errorf("%v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}
