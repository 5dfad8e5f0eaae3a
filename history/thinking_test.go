package history

import (
	"slices"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// think puts thinking before the last call of a conversation.
func (c *conv) think() {
	m := &c.messages[len(c.messages)-2]
	m.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: "hm"}}, m.Parts...)
}

// edited lists the messages that a plan changes.
func edited(p *Plan) (out []int) {
	for _, e := range p.Edits {
		out = append(out, e.Message)
	}
	return slices.Compact(out)
}

// WIRE-1: messages that the model answered on another way stay whole, and so do those
// behind a break for what the provider manages. What comes later is shortened, and may
// point to them.
func TestStaysWhole(t *testing.T) {
	c := &conv{}
	c.user("go on")
	for range 5 {
		c.read("a.go", 1, 60, 60) // results are messages 2, 4, 6, 8, 10
	}
	for _, test := range []struct {
		name   string
		breaks []Point
		want   []int
	}{
		{"nothing", nil, []int{4, 8}}, // asked again at once, a read is whole
		{"elsewhere", []Point{{After: 8, Why: Elsewhere, From: 0}}, []int{8}},
		{"elsewhere, in the middle", []Point{{After: 8, Why: Elsewhere, From: 6}}, []int{4, 8}},
		{"elsewhere, up to the end", []Point{{After: 11, Why: Elsewhere, From: 3}}, nil},
		{"managed", []Point{{After: 8, Why: Managed, From: 8}}, []int{4, 10}},
		{"managed and elsewhere", []Point{{After: 8, Why: Managed, From: 3}}, []int{10}},
	} {
		for _, policy := range []Policy{Lossless, Adaptive, Bold} {
			e := newEngine(t, Config{Policy: policy, ChecksThinking: true})
			if got := edited(e.Plan(c.messages, test.breaks...)); !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: messages %v changed, want %v", test.name, policy, got, test.want)
			}
		}
	}
	e := newEngine(t, Config{Policy: KeepLatest, KeepReads: 1, ChecksThinking: true})
	for _, b := range []Point{{After: 5, Why: Elsewhere}, {After: 5, Why: Thinking, From: 3}} { // the thinking may come again
		if got := edited(e.Plan(c.messages, b)); len(got) > 0 {
			t.Errorf("keep-latest, %s: messages %v changed", b.Why, got)
		}
	}
}

// WIRE-2: where the provider checks thinking, what was sent before a block of thinking is
// sent so ever after, whatever follows and under whatever policy.
func TestChecksThinking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for i := range w.messages {
			if m := &w.messages[i]; m.Role == llm.Assistant && rapid.Bool().Draw(t, "thinks") {
				m.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: "hm"}}, m.Parts...)
			}
		}
		e, err := New(Config{
			Policy: rapid.SampledFrom(Policies()).Draw(t, "policy"), KeepReads: 1, KeepShell: 1, Window: 2000, Idle: 1,
			Price: Price{0.1, 1.25}, ChecksThinking: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		var before []llm.Edit // of all requests so far, up to their last thinking
		for n := range w.messages {
			if w.messages[n].Role != llm.Assistant {
				continue
			}
			now := e.Plan(w.messages[:n]).Edits // the request that this message answers
			if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
				t.Fatalf("the request before message %d changes %v, earlier ones %v", n, now, before)
			}
			if thinks(&w.messages[n]) {
				before = now
			}
		}
	})
}

// TRIM-2: under keep-latest what had left when the first thinking was made stays out, and
// no more leaves.
func TestKeepLatestChecksThinking(t *testing.T) {
	c := &conv{}
	c.user("go on")
	for i := range 6 {
		c.read("a.go", 10*i+1, 10*i+9, 100)
		if i == 3 {
			c.think()
		}
	}
	for _, test := range []struct {
		checks bool
		want   []int
	}{{true, []int{2, 4}}, {false, []int{2, 4, 6, 8, 10}}} {
		e := newEngine(t, Config{Policy: KeepLatest, KeepReads: 1, ChecksThinking: test.checks})
		if got := edited(e.Plan(c.messages)); !slices.Equal(got, test.want) {
			t.Errorf("checks %v: messages %v changed, want %v", test.checks, got, test.want)
		}
	}
}
