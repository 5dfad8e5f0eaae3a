package session_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// If an event matches, MayMatch is true. The texts are random and have letters with a special encoding or a special lower case.
func TestMayMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "K", "k", "\u212a", "i", "\u0130", "ſ", "S", "é", "É", "说", "\"", "\\", "/", "<", "&", "\n", "\t", "\x00", " ", "\u2028", "\x7f", "\xff", "\xc4", "\xb0", "n", "u", "0"}
	text := func(n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteString(letters[random.IntN(1+random.IntN(len(letters)))])
		}
		return b.String()
	}
	matched, not := 0, 0
	for range 200_000 {
		body := session.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Text, Text: text(30)}, {Kind: llm.ToolCall, CallID: "c", Name: "run", Args: text(8)},
		}}
		raw, err := session.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		e := session.Event{Body: body}
		all := e.Text()
		from := random.IntN(len(all) + 1)
		word := session.Folded(all[from:min(len(all), from+1+random.IntN(4))])
		if random.IntN(3) == 0 {
			word = session.Folded(text(4) + "un0"[:random.IntN(3)])
		}
		may := session.MayMatch(string(raw), []string{word})
		if e.Matches([]string{word}) {
			if matched++; !may {
				t.Fatalf("%q in %q", word, raw)
			}
		} else if !may {
			not++
		}
	}
	if matched < 10_000 || not < 1_000 {
		t.Errorf("%d matched, %d were seen not to", matched, not)
	}
}
