package trim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

const (
	dependencyFile = "/home/me/app/node_modules/x/index.d.ts"
	agentsStub     = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current — refer to that instead of re-reading."
)

// idleFor returns a conversation in which reads of dependencies may leave at a cold point.
func idleFor(do func(c *conv)) *conv {
	c := &conv{}
	c.user("Working directory: /home/me/app")
	do(c)
	for i := range 20 {
		c.call("Bash", fmt.Sprintf(`{"command":"make t%d"}`, i), "ok")
	}
	return c
}

func readArgs(first, limit int) string {
	return fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":%d}`, dependencyFile, first, limit)
}

// TRIM-16, invariants 1 and 7: an agent refuses to show a text again, although stet has evicted it. Then the text of the read
// that the agent asked for takes the place of the agent's stub.
func TestStubAfterEviction(t *testing.T) {
	whole := fmt.Sprintf(`{"file_path":%q}`, dependencyFile)
	one, two := numberedLines("x", 1, 100), numberedLines("x", 101, 200)
	for _, tt := range []struct {
		name  string
		reads [][2]string
		again string
		want  string
	}{
		{"whole", [][2]string{{whole, one}}, whole, one},
		{"the first part", [][2]string{{readArgs(1, 100), one}, {readArgs(101, 100), two}}, readArgs(1, 100), one},
		{"the second part", [][2]string{{readArgs(1, 100), one}, {readArgs(101, 100), two}}, readArgs(101, 100), two},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := idleFor(func(c *conv) {
				for _, r := range tt.reads {
					c.call("Read", r[0], r[1])
				}
			})
			moment := Point{After: len(c.messages), Why: Gap}
			again := c.call("Read", tt.again, agentsStub)
			twice := c.call("Read", tt.again, agentsStub)
			p := newEngine(t, Config{}).Plan(c.messages, moment)
			out := llm.Apply(c.messages, p.Edits)
			if !strings.Contains(out[2].Parts[0].Text, "left out") || out[again].Parts[0].Text != tt.want || out[twice].Parts[0].Text != agentsStub || p.Dangling != 0 {
				t.Errorf("%.60q, %.60q, %.60q, %d dangling", out[2].Parts[0].Text, out[again].Parts[0].Text, out[twice].Parts[0].Text, p.Dangling)
			}
			// At the next cold point the read to which the stubs point stays.
			c.user("go on")
			p = newEngine(t, Config{}).Plan(c.messages, moment, Point{After: len(c.messages), Why: Gap})
			out = llm.Apply(c.messages, p.Edits)
			if out[again].Parts[0].Text != agentsStub || !hasLine(out, strings.Split(tt.want, "\t")[1][:20]) || p.Dangling != 0 {
				t.Errorf("%.60q, %d dangling", out[again].Parts[0].Text, p.Dangling)
			}
		})
	}
}

// TRIM-16: a stub whose text cannot be replaced counts as dangling, as long as the read to which it points has left.
func TestDanglingStub(t *testing.T) {
	c := idleFor(func(c *conv) { c.call("Read", readArgs(1, 100), numberedLines("x", 1, 100)) })
	moment := Point{After: len(c.messages), Why: Gap}
	again := c.call("Read", readArgs(1, 100), agentsStub)
	for i := range c.messages {
		if i != again {
			c.messages[i].Parts[0].Span = llm.Span{Start: 1, End: 2}
		}
	}
	e := newEngine(t, Config{InPlace: true})
	if p := e.Plan(c.messages, moment); p.Dangling != 1 {
		t.Errorf("%d dangling", p.Dangling)
	}
	if p := e.Plan(c.messages, moment, Point{After: len(c.messages), Why: Gap}); p.Dangling != 0 || len(p.Edits) != 0 {
		t.Errorf("%d dangling, %d edits", p.Dangling, len(p.Edits))
	}
}

// TRIM-16: the read to which a stub points stays in the request.
func TestStubPinsItsRead(t *testing.T) {
	c := idleFor(func(c *conv) {
		c.call("Read", readArgs(1, 100), numberedLines("x", 1, 100))
		c.call("Read", readArgs(101, 100), numberedLines("x", 101, 200))
		c.call("Read", readArgs(1, 100), agentsStub)
	})
	_, out := cold(t, Config{}, c)
	if !hasLine(out, "line 50 of x") || hasLine(out, "line 150 of x") {
		t.Errorf("%.60q, %.60q", out[2].Parts[0].Text, out[4].Parts[0].Text)
	}
}

// TRIM-16: if a later call has the id of the source too, a pointer does not name that id.
func TestIDUsedAgain(t *testing.T) {
	c := &conv{}
	c.user("go on")
	text := numberedLines("a.go", 1, 60)
	for range 2 {
		c.call("Read", `{"file_path":"src/a.go"}`, text)
	}
	for i := range c.messages {
		c.messages[i].Parts[0].CallID = "d"
	}
	p := lossless(t).Plan(c.messages)
	if len(p.Edits) != 1 || !strings.Contains(p.Edits[0].Text, "shown above by an earlier read") {
		t.Errorf("%+v", p.Edits)
	}
}

// TRIM-16: a file may contain a line that looks like a placeholder. It keeps its own line numbers, whichever tool shows it.
func TestFileWithPlaceholders(t *testing.T) {
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("a line of the sample, number %d", i+1))
	}
	lines = append(lines, "[stet: src/a.go lines 8-27 unchanged: shown above by call_1 (lines 1-123). Ask again for the full text.]")
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("more of the sample, number %d", i+32))
	}
	rows := func(a, b int) string {
		text := ""
		for n := a; n <= b; n++ {
			text += fmt.Sprintf("%d\t%s\n", n, lines[n-1])
		}
		return text
	}
	numbered, bare := &conv{}, &conv{}
	for _, c := range []*conv{numbered, bare} {
		c.user("go on")
	}
	numbered.call("Read", `{"file_path":"golden.txt"}`, rows(1, len(lines)))
	bare.call("Bash", `{"command":"cat golden.txt"}`, strings.Join(lines, "\n")+"\n")
	for _, c := range []*conv{numbered, bare} {
		at := c.call("Read", `{"file_path":"golden.txt","offset":40,"limit":40}`, rows(40, 79))
		out, _ := sent(t, lossless(t), c.messages)
		if text := out[at].Parts[0].Text; !strings.HasPrefix(text, "[stet: golden.txt lines 40-79 unchanged: shown above by ") || strings.Contains(text, "there)") {
			t.Errorf("%.200q", text)
		}
	}
}

// Invariant 4: planning a planned request again changes nothing. That also holds if bold left out a read through a shell, or the
// content of a write, and the file was read again after that.
func TestLeftOutWhenPlannedAgain(t *testing.T) {
	content := strings.Join(textOf(shown("a.ts", 1, 150, 150)), "\n")
	for name, first := range map[string]func(c *conv){
		"shell": func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "sed -n '1,150p' src/a.ts"}, content+"\n")
		},
		"written": func(c *conv) {
			c.call("filesystem-create", map[string]any{"filePath": "src/a.ts", "content": content + "\n"}, "Created.")
		},
	} {
		c := &conv{}
		c.user("go on")
		first(c)
		for i := range 70 {
			c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("try %d", i)}, "no")
		}
		c.call("terminal-execute", map[string]any{"command": "cat src/b.ts"}, content+"\n")
		at := Point{After: len(c.messages), Why: Gap}
		again := c.call("terminal-execute", map[string]any{"command": "cat src/a.ts"}, content+"\n")
		e := newEngine(t, Config{Policy: Bold})
		p := e.Plan(c.messages, at)
		out := llm.Apply(c.messages, p.Edits)
		if len(p.Edits) != 1 || out[again].Parts[0].Text != c.messages[again].Parts[0].Text {
			t.Fatalf("%s: %+v", name, p.Omissions)
		}
		if p := e.Plan(out, at); len(p.Edits) > 0 {
			t.Errorf("%s: planned again, message %d becomes %.120q", name, p.Edits[0].Message, p.Edits[0].Text)
		}
	}
}

// textOf returns the lines of a numbered read without their numbers.
func textOf(numbered string) []string {
	var out []string
	for line := range strings.Lines(numbered) {
		if _, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "→"); ok {
			out = append(out, text)
		}
	}
	return out
}
