package trim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// think adds thinking before the last call of a conversation.
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

// Messages that were sent whole stay whole. Later messages are shortened, and may point to them.
func TestResumedWhole(t *testing.T) {
	c := &conv{}
	c.user("go on")
	for range 5 {
		c.read("a.go", 1, 60, 60) // results are messages 2, 4, 6, 8, 10
	}
	for _, test := range []struct {
		sent int
		want []int
	}{{0, []int{4, 8}}, {5, []int{6, 10}}, {9, []int{10}}, {11, nil}} { // a read that is asked again at once is whole
		for _, policy := range []Policy{Lossless, Adaptive, Bold} {
			st := newEngine(t, Config{Policy: policy, ChecksThinking: true}).Resume(c.messages, Sent{Messages: test.sent})
			st.Add(c.messages[test.sent:]...)
			if got := edited(st.Plan()); !slices.Equal(got, test.want) {
				t.Errorf("%s, %d were sent: messages %v changed, want %v", policy, test.sent, got, test.want)
			}
		}
	}
}

// WIRE-2: if the provider checks thinking, everything that was sent before a block of thinking is sent in the same form in every
// later request, whatever follows and under every policy.
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
		var before []llm.Edit // the edits of all requests so far, up to their last thinking
		for n := range w.messages {
			if w.messages[n].Role != llm.Assistant {
				continue
			}
			now := e.Plan(w.messages[:n]).Edits // the request that this message answers
			if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
				t.Fatalf("the request before message %d changes %v, earlier ones %v", n, now, before)
			}
			if slices.ContainsFunc(w.messages[n].Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking }) {
				before = now
			}
		}
	})
}

// TRIM-2: under keep-latest, the reads that had left before the first thinking stay out, and no more leave.
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

// Thinking of earlier turns leaves at a cold point, from the start; that of the newest turns and of a loop of tools that has not ended
// stays. What has left stays away, and a state that is made from what was sent goes on
// alike. Nothing leaves under lossless, or if the provider does not bill it.
func TestThinkingOfEarlierTurns(t *testing.T) {
	turns := func(n, text int) []llm.Message {
		messages := []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}}}
		for range n {
			messages = append(messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: strings.Repeat("hm ", text)}, {Text: "done"}}},
				llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "and now?"}}})
		}
		return messages
	}
	cold := func(c Config, messages []llm.Message) *State {
		st := newEngine(t, c).NewState()
		st.Add(messages...)
		st.Cold(Gap, 0)
		return st
	}
	working := append(turns(4, 10), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "hm"}, {Kind: llm.ToolCall, CallID: "c", Name: "Bash", Args: "{}"}}})
	stuck := turns(5, 10)
	stuck[3].Parts = stuck[3].Parts[:1] // nothing else is in the message, so its thinking stays
	for _, test := range []struct {
		config   Config
		messages []llm.Message
		want     []int
	}{
		{Config{BillsThinking: true}, turns(5, 10), []int{1, 3, 5, 7}},
		{Config{BillsThinking: true, ChecksThinking: true}, turns(5, 10), []int{1, 3, 5, 7}},
		{Config{BillsThinking: true}, working, []int{1, 3, 5, 7}},
		{Config{BillsThinking: true}, turns(1, 10), nil},
		{Config{BillsThinking: true}, stuck, []int{1}}, // none leaves behind a block that stays: there would be a gap
		{Config{BillsThinking: true, Policy: Lossless}, turns(5, 10), nil},
		{Config{}, turns(5, 10), nil},
	} {
		st := cold(test.config, test.messages)
		p := st.Plan()
		if got := edited(p); !slices.Equal(got, test.want) {
			t.Errorf("%+v: thinking of messages %v left, want %v", test.config, got, test.want)
		}
		sent := Sent{Messages: len(test.messages), Edits: p.Edits, Balance: st.Balance()}
		for _, o := range p.Omissions {
			sent.Reasons = append(sent.Reasons, o.Reason)
		}
		more := append(slices.Clone(test.messages), turns(3, 10)[1:]...)
		again := newEngine(t, test.config).Resume(more, sent)
		for _, st := range []*State{st, again} {
			st.Add(more[len(test.messages):]...)
			if got := edited(st.Plan()); !slices.Equal(got, test.want) {
				t.Errorf("%+v: later, thinking of messages %v left, want %v", test.config, got, test.want)
			}
		}
	}
}
