package check

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/replaytest"
)

// The view is updated from one request to the next. It always equals a new view of the request, whatever is left out and comes
// back.
func TestViewIsThatOfTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := NewRecording(replaytest.Draw(t))
		numbers := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(t, "omissions")
		x := NewIndex(rec)
		v := x.View()
		next := 0
		for i := range rec.Requests {
			q := &rec.Requests[i]
			var omissions []Omission
			texts := make(map[int]string)
			count := make([]int32, len(x.ids))
			for at := rec.Begin(q); at < rec.End(q); at++ {
				part := *rec.Parts[at].Part
				if part.Kind == llm.ToolResult {
					next++
					some := []string{"", "[cut]", "     3→the text of line 3, some words long\n", `{"text":"the text of line 5, some words long"}`}
					if n := numbers[next%len(numbers)]; n < len(some) {
						part.Text, texts[at] = some[n], some[n]
						omissions = append(omissions, Omission{at, some[n], n == 1})
					}
				}
				for _, id := range x.known(visible(&part)) {
					count[id]++
				}
			}
			v.Show(i, omissions)
			if !slices.Equal(count, v.count) || !maps.Equal(texts, v.replaced) {
				t.Fatalf("request %d: lines %v, want %v", i, v.count, count)
			}
		}
	})
}
