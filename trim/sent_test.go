package trim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

// sentSoFar says how the messages of a state were sent.
func sentSoFar(st *State) Sent {
	p := st.Plan()
	s := Sent{Messages: st.Len(), ClearedCalls: p.ClearedCalls, Edits: p.Edits, Balance: st.Balance()}
	for _, o := range p.Omissions {
		s.Reasons = append(s.Reasons, o.Reason)
	}
	return s
}

// drawAny draws an engine of any policy that deduplicates.
func drawAny(t *rapid.T) *Engine {
	c := Config{
		Policy:    rapid.SampledFrom([]Policy{Lossless, Adaptive, Bold}).Draw(t, "policy"),
		KeepShell: rapid.IntRange(1, 3).Draw(t, "outputs kept"), Idle: rapid.IntRange(1, 6).Draw(t, "idle"),
		Price:       rapid.SampledFrom([]Price{{}, {0.1, 1.25}, {0.5, 0.51}}).Draw(t, "price"),
		LineNumbers: rapid.SampledFrom([]LineNumbers{"", SparseNumbers}).Draw(t, "numbers"),
	}
	if rapid.Bool().Draw(t, "checked") {
		c.ChecksThinking, c.Clears = true, rapid.Bool().Draw(t, "clears")
	}
	if rapid.Bool().Draw(t, "small window") {
		c.Window = 2000
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// WIRE-2: a state that was made from what was sent goes on as the state that sent it: with new messages, at cold points, and at warm
// breaks.
func TestResumedGoesOn(t *testing.T) {
	checks, edits := 0, 0
	check := func(t *rapid.T) {
		more := ""
		if rapid.Bool().Draw(t, "long lines") {
			more = ", and more of it, so that a warm break is worth it sooner or later"
		}
		w, e := drawLongWorld(t, rapid.SampledFrom([]int{25, 60}).Draw(t, "most steps"), more), drawAny(t)
		one := e.NewState()
		two := one
		for at := 0; at < len(w.messages); {
			next := min(len(w.messages), at+rapid.IntRange(1, 12).Draw(t, "messages"))
			for next < len(w.messages) && w.messages[next].Role != llm.Assistant {
				next++
			}
			keep := -1
			if rapid.IntRange(0, 5).Draw(t, "cold") == 0 {
				keep = rapid.SampledFrom([]int{0, 0, at}).Draw(t, "keep")
			}
			states := []*State{one, two}
			if at == 0 {
				states = states[:1]
			}
			for _, st := range states {
				if keep >= 0 {
					last := next - 1
					for last > at && w.messages[last].Role != llm.Assistant {
						last--
					}
					st.Add(w.messages[at : last+1]...)
					st.Cold(Gap, keep)
					st.Add(w.messages[last+1 : next]...)
				} else {
					st.Add(w.messages[at:next]...)
				}
			}
			if at = next; two != one {
				a, b := one.Plan(), two.Plan()
				checks, edits = checks+1, edits+len(a.Edits)
				if !slices.Equal(a.Edits, b.Edits) || a.ClearedCalls != b.ClearedCalls || a.Breaks != b.Breaks || a.Saved != b.Saved {
					t.Fatalf("%d messages, cold %d: continued %+v\nresumed %+v", at, keep, a, b)
				}
				if x, y := one.Balance(), two.Balance(); x != y {
					t.Fatalf("continued %+v, resumed %+v", x, y)
				}
			}
			two = e.Resume(w.messages[:at], sentSoFar(one))
			if a, b := one.Plan(), two.Plan(); !slices.Equal(a.Edits, b.Edits) {
				t.Fatalf("sent %+v\nresumed %+v", a, b)
			}
		}
	}
	for checks < 10_000 {
		rapid.Check(t, check)
	}
	t.Logf("%d checks, %d edits", checks, edits)
}
