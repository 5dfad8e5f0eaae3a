package trim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

// WIRE-2, TRIM-16: if the provider clears results at cold points, messages that were sent keep their form, whatever follows. The
// provider clears all results of the first calls. A pointer that the model sees points to text that the model sees.
func TestCleared(t *testing.T) {
	cleared := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for n := range rapid.IntRange(0, 3).Draw(t, "reports") {
			w.call("terminal-execute", map[string]any{"command": "make"}, report(n))
			for range rapid.IntRange(4, 9).Draw(t, "behind it") {
				w.look(t, "a.go")
			}
		}
		c := Config{
			Policy: Bold, ChecksThinking: true, Clears: true,
			KeepShell: rapid.IntRange(1, 3).Draw(t, "outputs kept"), Idle: rapid.IntRange(1, 6).Draw(t, "idle"),
		}
		e, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		points := drawPoints(t, len(w.messages))
		before := &Plan{}
		st := e.NewState()
		for n := range w.messages {
			st.Add(w.messages[n])
			for _, p := range points {
				if p.After == n+1 {
					st.Cold(p.Why, 0)
				}
			}
			now := st.Plan()
			if len(before.Edits) > len(now.Edits) || !slices.Equal(before.Edits, now.Edits[:len(before.Edits)]) {
				t.Fatalf("what was sent of the first %d messages changed: %v, %v", n, before.Edits, now.Edits)
			}
			if now.ClearedCalls < before.ClearedCalls {
				t.Fatalf("%d calls were cleared, and then %d", before.ClearedCalls, now.ClearedCalls)
			}
			before = now
		}
		if whole := e.Plan(w.messages, points...); !reflect.DeepEqual(whole, before) {
			t.Fatal("planned as a whole, the plan is another")
		}
		checkCleared(t, w.messages, before)
		out := llm.Apply(w.messages, before.Seen().Edits)
		for i, xs := range w.truth {
			if out[i].Parts[0].Text == clearedText {
				continue
			}
			for _, x := range xs {
				checkPointers(t, w, out, i, x)
			}
		}
		cleared += before.ClearedCalls
	})
	if cleared == 0 {
		t.Error("nothing was cleared")
	}
}

// checkCleared checks that a plan names all results of the calls that are cleared, and no others.
func checkCleared(t *rapid.T, messages []llm.Message, p *Plan) {
	calls, ids := 0, make(map[string]bool)
	var want, got []PartRef
	for i, m := range messages {
		for j, part := range m.Parts {
			if part.Kind == llm.ToolCall {
				ids[part.CallID] = calls < p.ClearedCalls
				calls++
			}
			if part.Kind == llm.ToolResult && ids[part.CallID] && len(part.Text) > len(clearedText) {
				want = append(want, PartRef{i, j})
			}
		}
	}
	for _, o := range p.Cleared {
		got = append(got, PartRef{o.Message, o.Part})
	}
	if !slices.Equal(want, got) {
		t.Fatalf("%d calls are cleared: results %v, want %v", p.ClearedCalls, got, want)
	}
}

// report returns an output of 200 lines. Each n gives other lines.
func report(n int) string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "build %d: step %d was done\n", n, i)
	}
	return b.String()
}

// If thinking is not checked, or the provider clears nothing, cold points evict in the usual way.
func TestClearsNothing(t *testing.T) {
	c := &conv{}
	c.user("go on")
	for i := range 12 {
		c.call("terminal-execute", map[string]any{"command": "make"}, report(i))
	}
	point := Point{After: len(c.messages), Why: Gap}
	for _, test := range []struct {
		config Config
		clears bool
	}{
		{Config{Policy: Bold, ChecksThinking: true, Clears: true}, true},
		{Config{Policy: Bold, Clears: true}, false},
		{Config{Policy: Bold, ChecksThinking: true}, false},
		{Config{Policy: Adaptive, ChecksThinking: true, Clears: true}, true},
		{Config{Policy: Lossless, ChecksThinking: true, Clears: true}, false},
	} {
		if p := newEngine(t, test.config).Plan(c.messages, point); p.ClearedCalls > 0 != test.clears || len(p.Cleared) > 0 != test.clears {
			t.Errorf("%+v: %d calls are cleared", test.config, p.ClearedCalls)
		}
	}
}

// Under adaptive a read is not cleared, however small, and nothing after it is cleared: an edit may need its text. Under bold a
// small read is cleared with the other results. A larger read is cleared only if what leaves with it is worth more than reading
// it again. Reading again costs more in a longer conversation.
func TestClearsReads(t *testing.T) {
	for _, test := range []struct {
		policy        Policy
		bytes, before int // size of the read, and of the conversation before it
		outputs       int
		clears        bool
	}{
		{Adaptive, 20, 0, 12, false},
		{Bold, 20, 0, 12, true},
		{Bold, smallResult - 100, 2 << 20, 7, true},
		{Bold, smallResult + 100, 2 << 20, 7, false},
		{Bold, smallResult + 100, 2 << 20, 15, true},
		{Bold, smallResult + 100, 0, 7, true},
	} {
		c := &conv{}
		c.user("go on" + strings.Repeat(".", test.before))
		c.call("Read", map[string]any{"file_path": "/home/me/project/a.go"}, "     1\t"+strings.Repeat("a", test.bytes)+"\n")
		for i := range test.outputs {
			c.call("terminal-execute", map[string]any{"command": "make"}, report(i))
		}
		p := newEngine(t, Config{Policy: test.policy, ChecksThinking: true, Clears: true}).Plan(c.messages, Point{After: len(c.messages), Why: Gap})
		if p.ClearedCalls > 0 != test.clears {
			t.Errorf("%+v: %d calls are cleared", test, p.ClearedCalls)
		}
	}
}

// A result that cannot be produced again stays under bold too, and so does everything after it.
func TestClearsNothingUnique(t *testing.T) {
	c := &conv{}
	c.user("go on")
	c.call("TaskOutput", map[string]any{"task_id": "1"}, report(99))
	for i := range 12 {
		c.call("terminal-execute", map[string]any{"command": "make"}, report(i))
	}
	p := newEngine(t, Config{Policy: Bold, ChecksThinking: true, Clears: true}).Plan(c.messages, Point{After: len(c.messages), Why: Gap})
	if p.ClearedCalls > 0 {
		t.Errorf("%d calls are cleared", p.ClearedCalls)
	}
}
