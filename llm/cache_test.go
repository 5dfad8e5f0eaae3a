package llm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEnds(t *testing.T) {
	var m []Message
	for _, r := range []Role{System, User, Assistant, Tool, Tool, Assistant, Tool, User} {
		m = append(m, Message{Role: r})
	}
	for _, c := range []struct {
		cache Cache
		n     int
		want  []int
	}{
		{Cache{}, 8, []int{5, 8}},
		{Cache{}, 5, []int{2, 5}},
		{Cache{}, 2, []int{2}},
		{Cache{}, 0, nil},
		{Cache{Frontier: 3}, 8, []int{3, 5, 8}},
		{Cache{Frontier: 5}, 8, []int{5, 8}},
		{Cache{Frontier: 9}, 8, []int{5, 8}},
		{Cache{Frontier: 3, Rolling: []int{}}, 8, []int{3}},
		{Cache{Rolling: []int{7, 2, 4}}, 8, []int{2, 7}},
		{Cache{Frontier: -1, Rolling: []int{0, -5}}, 8, nil},
	} {
		if got := c.cache.Ends(m[:c.n]); !slices.Equal(got, c.want) {
			t.Errorf("%+v of %d: %v, want %v", c.cache, c.n, got, c.want)
		}
	}
}

// One of the ends of a request is the end of the previous request. So the provider finds what it cached for the previous request,
// even after many new messages.
func TestEndsMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Cache
		m := []Message{{Role: User}}
		for range rapid.IntRange(1, 8).Draw(t, "turns") {
			before := len(m)
			for range rapid.IntRange(1, 2).Draw(t, "answers") {
				m = append(m, Message{Role: Assistant})
			}
			for range rapid.IntRange(1, 30).Draw(t, "said") {
				m = append(m, Message{Role: rapid.SampledFrom([]Role{User, Tool, System}).Draw(t, "role")})
			}
			if got := c.Ends(m); !slices.Equal(got, []int{before, len(m)}) {
				t.Fatalf("%v of %d, before %d", got, len(m), before)
			}
		}
	})
}
