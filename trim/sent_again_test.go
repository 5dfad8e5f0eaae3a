package trim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// A conversation that goes back is sent in the form that it had with the messages after it. The exception is placeholders that
// would no longer be true.
func TestSentAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, e := drawWorld(t), drawEvicting(t)
		point := rapid.IntRange(1, len(w.messages)).Draw(t, "cold point")
		whole := e.Plan(w.messages, Point{After: point, Why: Gap})
		sent := &Omitted{len(w.messages), whole.Evicted(0)}

		// The number of messages at which it is planned makes no difference.
		for range 3 {
			after := rapid.IntRange(point, len(w.messages)).Draw(t, "planned")
			if again := e.Plan(w.messages, Point{After: after, Why: Gap, Omitted: sent}); !slices.Equal(again.Edits, whole.Edits) {
				t.Fatalf("planned after %d messages, not %d, it is another plan", after, point)
			}
		}

		n := rapid.IntRange(1, len(w.messages)).Draw(t, "back to")
		if w.messages[n-1].Role == llm.Assistant {
			return // this is between a call and its result
		}
		back := w.messages[:n]
		points := []Point{{After: n, Why: Gap, Omitted: &Omitted{n, sent.Parts}}}
		p := e.Plan(back, points...)
		out := llm.Apply(back, p.Edits)
		for i := range out {
			if _, old := saysHowToRecover(out[i].Parts[0].Text); !old {
				for _, x := range w.truth[i] {
					checkPointers(t, w, out, i, x)
				}
			}
		}
		if again := e.Plan(out, points...); len(again.Edits) != 0 {
			t.Fatalf("planned again, it changes message %d to %q", again.Edits[0].Message, again.Edits[0].Text)
		}
		want := slices.DeleteFunc(slices.Clone(whole.Edits), func(e llm.Edit) bool { return e.Message >= n })
		if !slices.Equal(p.Edits, want) && !slices.ContainsFunc(want, func(e llm.Edit) bool { return strings.Contains(e.Text, replacedPlaceholder) }) {
			t.Fatalf("sent again, it is another:\n%v\n%v", p.Edits, want)
		}
	})
}

// What has left stays away, although it may be new in the shorter conversation. The exception is a result that left because a
// newer one replaced it: its placeholder would not be true.
func TestSentAgainEvicted(t *testing.T) {
	lines := lineRange("the text of line %[1]d, as the file has it", 10, 30)
	for _, test := range []struct {
		name    string
		evicted func(c *conv)
		behind  func(c *conv)
		left    int
	}{
		{"output", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "go test ./..."}, long("out", 900))
		}, func(*conv) {}, 1},
		{"search", func(c *conv) { c.call("Grep", map[string]any{"pattern": "func main"}, long("found", 900)) }, func(*conv) {}, 1},
		{"dependency", func(c *conv) {
			c.user("Working directory: /home/me/project")
			c.read("node_modules/x/index.js", 1, 40, 40)
		}, func(*conv) {}, 1},
		{"report and what was asked", func(c *conv) {
			c.call("Task", map[string]any{"prompt": long("question", 900)}, long("report", 900))
		}, func(*conv) {}, 2},
		{"content", func(c *conv) {
			c.call("filesystem-create", map[string]any{"filePath": "src/a.go", "content": long("written", large)}, "Written.")
		}, func(*conv) {}, 1},
		{"replaced text", func(c *conv) {
			c.call("Edit", map[string]any{"file_path": "a.ts", "old_string": lines, "new_string": "short\n"}, "Edited.")
		}, func(c *conv) {
			c.call("Edit", map[string]any{"file_path": "a.ts", "old_string": "short\n", "new_string": lines}, "Edited.")
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &conv{}
			c.user("go on")
			test.evicted(c)
			n := len(c.messages)
			test.behind(c)
			for i := range 70 {
				c.call("terminal-execute", map[string]any{"command": fmt.Sprint("step ", i)}, "done")
			}
			e := newEngine(t, Config{Policy: Bold})
			all := Point{After: len(c.messages), Why: Gap}
			sent := e.Plan(c.messages, all)
			left := &Omitted{Messages: len(c.messages), Parts: sent.Evicted(0)}
			if len(sent.Edits) == 0 || sent.Edits[0].Message >= n {
				t.Fatal("it has not left")
			}
			p := e.Plan(c.messages[:n], Point{After: n, Why: Gap, Omitted: left})
			if len(p.Edits) != test.left {
				t.Errorf("%d left, not %d: %v", len(p.Edits), test.left, p.Edits)
			}
			for i := range p.Edits {
				if p.Edits[i] != sent.Edits[i] {
					t.Errorf("left as %q, and before as %q", p.Edits[i].Text, sent.Edits[i].Text)
				}
			}
		})
	}
}
