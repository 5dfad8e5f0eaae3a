package trim

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// drawPoints draws cold points at random places.
func drawPoints(t *rapid.T, n int) []Point {
	var out []Point
	for _, after := range rapid.SliceOfNDistinct(rapid.IntRange(1, n), 0, 4, rapid.ID[int]).Draw(t, "points") {
		out = append(out, Point{After: after, Why: rapid.SampledFrom([]Cause{Gap, Model, Tools, Resume, Compaction}).Draw(t, "why")})
	}
	slices.SortFunc(out, func(a, b Point) int { return a.After - b.After })
	return out
}

// until returns the points within the first n messages.
func until(points []Point, n int) []Point {
	i := slices.IndexFunc(points, func(p Point) bool { return p.After > n })
	if i < 0 {
		return points
	}
	return points[:i]
}

func drawEvicting(t *rapid.T) *Engine {
	c := Config{
		Policy:    rapid.SampledFrom([]Policy{Lossless, Adaptive, Bold}).Draw(t, "policy"),
		KeepShell: rapid.IntRange(1, 3).Draw(t, "outputs kept"), Idle: rapid.IntRange(1, 6).Draw(t, "idle"),
		LineNumbers: rapid.SampledFrom([]LineNumbers{"", SparseNumbers}).Draw(t, "numbers"),
	}
	if rapid.Bool().Draw(t, "priced") {
		c.Price = Price{0.1, 1.25}
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

// TestInvariantsAtColdPoints checks the invariants of the engine at cold points, over random histories. Their numbers are those
// of the design.
func TestInvariantsAtColdPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, e := drawWorld(t), drawEvicting(t)
		points := drawPoints(t, len(w.messages))
		stored, _ := json.Marshal(w.messages)
		p := e.Plan(w.messages, points...)
		out := llm.Apply(w.messages, p.Edits)

		// 1 (TRIM-16): what was left out stands where its placeholder says, or the placeholder says how to get it again.
		for i, xs := range w.truth {
			if command, old := saysHowToRecover(out[i].Parts[0].Text); old {
				if e.Policy() == Lossless {
					t.Fatalf("message %d left under lossless: %s", i, command)
				}
				continue
			}
			for _, x := range xs {
				checkPointers(t, w, out, i, x)
			}
		}
		// 2: every call keeps its result and its id, in the same order.
		checkOrder(t, w.messages, out)
		if !slices.IsSortedFunc(p.Edits, func(a, b llm.Edit) int { return cmp.Or(a.Message-b.Message, a.Part-b.Part) }) {
			t.Fatalf("edits out of order: %v", p.Edits)
		}
		// 4: planning a planned request changes nothing. Between cold points the plan of the first n messages is the beginning of
		// the plan of more.
		if again := e.Plan(out, points...); len(again.Edits) != 0 {
			t.Fatalf("planned again, it changes message %d to %q", again.Edits[0].Message, again.Edits[0].Text)
		}
		checkPrefix(t, e, w, points)
		checkFolding(t, e, w, points, p)
		// 5: the stored messages are unchanged.
		if now, _ := json.Marshal(w.messages); string(now) != string(stored) {
			t.Fatal("the stored messages changed")
		}
		// 6: the text that an edit replaces stands in the request, if the agent could see it. The exception is text that stood
		// only in the output of an old command.
		if e.Policy() == Bold {
			return
		}
		for _, nd := range w.needs {
			part := w.messages[:nd.message]
			sent := llm.Apply(part, e.Plan(part, until(points, nd.message)...).Edits)
			for _, l := range nd.old {
				if hasLine(part, l) && !hasLine(sent, l) && hasLine(withoutOutputs(part, sent), l) {
					t.Fatalf("the edit in message %d lost %q", nd.message, l)
				}
			}
		}
	})
}

// The invariants of cold points hold at warm breaks too. A break that was considered and not made changes nothing.
func TestInvariantsAtBreaks(t *testing.T) {
	breaks := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawLongWorld(t, 80, strings.Repeat(", and more of it", 15))
		c := Config{
			Policy: Bold, Idle: rapid.IntRange(1, 12).Draw(t, "idle"), KeepShell: 1,
			Price: rapid.SampledFrom([]Price{{0.5, 0.51}, {0.1, 1.25}}).Draw(t, "price"),
		}
		e, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		p := e.Plan(w.messages)
		breaks += p.Breaks
		out := llm.Apply(w.messages, p.Edits)
		for i, xs := range w.truth {
			if _, old := saysHowToRecover(out[i].Parts[0].Text); old {
				continue
			}
			for _, x := range xs {
				checkPointers(t, w, out, i, x)
			}
		}
		checkOrder(t, w.messages, out)
		checkFolding(t, e, w, nil, p)
		if p.Breaks > 0 {
			return
		}
		c.NoBreaks = true
		if e, err = New(c); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e.Plan(w.messages), p) {
			t.Fatal("a break that was not made changed the plan")
		}
	})
	if breaks < 5 {
		t.Errorf("%d breaks: the test shows little", breaks)
	}
}

// withoutOutputs returns part without the outputs that have left in sent.
func withoutOutputs(part, sent []llm.Message) []llm.Message {
	out := slices.Clone(part)
	for i := range out {
		if text := sent[i].Parts[0].Text; isPlaceholder(text) && strings.Contains(text, "Run it again if needed.]") {
			out[i] = sent[i]
		}
	}
	return out
}

// saysHowToRecover reports whether the text of a result is a placeholder that says how to get the result again, and returns the text.
func saysHowToRecover(text string) (string, bool) {
	return text, isPlaceholder(text) && (strings.Contains(text, "Run it again if needed.]") || strings.Contains(text, "Read it again if needed.]"))
}

// hasLine reports whether a line stands in any of the messages.
func hasLine(messages []llm.Message, line string) bool {
	for i := range messages {
		for _, p := range messages[i].Parts {
			if strings.Contains(p.Text, line) || strings.Contains(p.Args, line) {
				return true
			}
		}
	}
	return false
}

// checkOrder checks that only the texts of results and texts in arguments differ.
func checkOrder(t *rapid.T, in, out []llm.Message) {
	if len(in) != len(out) {
		t.Fatalf("%d messages became %d", len(in), len(out))
	}
	for i := range in {
		for j := range in[i].Parts {
			a, b := in[i].Parts[j], out[i].Parts[j]
			switch a.Kind {
			case llm.ToolResult:
				a.Text, b.Text = "", ""
			case llm.ToolCall:
				if !slices.Equal(keysOf(t, a.Args), keysOf(t, b.Args)) {
					t.Fatalf("message %d: the arguments %s became %s", i, a.Args, b.Args)
				}
				a.Args, b.Args = "", ""
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("message %d changed in more than a result or arguments", i)
			}
		}
	}
}

// keysOf returns the keys of a JSON object, sorted.
func keysOf(t *rapid.T, args string) []string {
	var m map[string]any
	if err := json.Unmarshal([]byte(args), &m); err != nil {
		t.Fatalf("arguments are no object: %s", args)
	}
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// checkPrefix checks that the plan of n messages is the beginning of the plan of m, if no cold point lies between n and m.
func checkPrefix(t *rapid.T, e *Engine, w *world, points []Point) {
	n := rapid.IntRange(0, len(w.messages)).Draw(t, "prefix")
	m := len(w.messages)
	if rest := points[len(until(points, n)):]; len(rest) > 0 {
		m = rest[0].After - 1
	}
	whole, part := e.Plan(w.messages[:m], until(points, n)...), e.Plan(w.messages[:n], until(points, n)...)
	for i := range part.Edits {
		if i >= len(whole.Edits) || part.Edits[i] != whole.Edits[i] {
			t.Fatalf("the plan of %d messages is no prefix of the plan of %d", n, m)
		}
	}
}

// checkFolding checks that a conversation that is added message by message, and planned on the way, has the same plan as the
// whole conversation at once.
func checkFolding(t *rapid.T, e *Engine, w *world, points []Point, want *Plan) {
	st := e.NewState()
	var got *Plan
	for i := range w.messages {
		st.Add(w.messages[i])
		for _, b := range points {
			if b.After == i+1 {
				st.Cold(b.Why, 0)
			}
		}
		if i+1 == len(w.messages) || w.messages[i+1].Role == llm.Assistant {
			got = st.Plan()
		}
	}
	if got == nil || !reflect.DeepEqual(got.Edits, want.Edits) || !reflect.DeepEqual(got.Omissions, want.Omissions) {
		t.Fatal("folded message by message, the plan is another")
	}
}
