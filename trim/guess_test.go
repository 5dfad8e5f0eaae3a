package trim

import (
	"math/rand/v2"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TRIM-17: a guess that the cache is gone makes no conversation dearer, at any request, even if every guess is wrong. (Between
// guesses there are no breaks, since adaptive makes none.)
func TestWrongGuesses(t *testing.T) {
	left := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, price := longWork(r), Price{0.1, []float64{1, 1.25, 2}[r.IntN(3)]}
		st := newEngine(t, Config{Price: price, Idle: 5}).NewState()
		var before, beforeOff []llm.Message
		cost, off := 0., 0.
		for i := range c.messages {
			if c.messages[i].Role != llm.Assistant {
				continue
			}
			st.Add(c.messages[st.Len():i]...)
			if r.IntN(20) == 0 {
				st.Cold(Guess, 0)
			}
			plan := st.Plan()
			now := llm.Apply(c.messages[:i], plan.Edits)
			cost += priceOf(now, before, price, func(text string) int { return len(text) })
			off += priceOf(c.messages[:i], beforeOff, price, func(text string) int { return len(text) })
			if cost > off*(1+1e-9) {
				t.Fatalf("seed %d: at message %d the conversation has cost %.0f, and without stet %.0f", seed, i, cost, off)
			}
			for _, o := range plan.Omissions {
				if o.Reason.Evicts() {
					left++
				}
			}
			before, beforeOff = now, c.messages[:i]
		}
	}
	if left == 0 {
		t.Error("no guess had anything leave: the test shows nothing")
	}
	t.Logf("%d omissions by guesses", left)
}
