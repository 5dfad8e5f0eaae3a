package replay

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/replay/check"
)

// The size of a request is the sum of its parts, also when parts are left out and come back.
func TestSentSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(replaytest.Draw(t), &Config{Counter: bytes{}, Overhead: -1})
		numbers := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(t, "omissions")
		sender := r.NewSender()
		next := 0
		for i := range r.Requests {
			q := &r.Requests[i]
			var omissions []check.Omission
			size := 0
			for at := r.Begin(q); at < r.End(q); at++ {
				part := *r.Parts[at].Part
				if part.Kind == llm.ToolResult {
					next++
					some := []string{"", "[cut]", "another text"}
					if n := numbers[next%len(numbers)]; n < len(some) {
						part.Text = some[n]
						omissions = append(omissions, check.Omission{Part: at, Placeholder: some[n]})
					}
				}
				size += partTokens(&part, bytes{})
			}
			if got := sender.Send(i, omissions).Tokens; got != size {
				t.Fatalf("request %d: %d tokens, want %d", i, got, size)
			}
		}
	})
}
