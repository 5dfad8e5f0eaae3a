package trim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
)

// conv builds conversations for tests, with the results of the tool filesystem-read.
type conv struct {
	messages []llm.Message
	n        int
	clock    time.Time
}

func (c *conv) add(role llm.Role, parts ...llm.Part) {
	m := llm.Message{Role: role, Parts: parts, Time: c.clock}
	c.messages = append(c.messages, m)
}

func (c *conv) user(text string) { c.add(llm.User, llm.Part{Text: text}) }

// request is a call and its result.
type request struct {
	name   string
	args   any // a string is used unchanged, other values become JSON
	result string
}

// call adds a call and its result, and returns the index of the result.
func (c *conv) call(name string, args any, result string, failed ...bool) int {
	at := c.batch(request{name, args, result})
	c.messages[at].Parts[0].IsError = len(failed) > 0
	return at
}

// batch adds one message with several calls, and one message for each result. It returns the index of the first result.
func (c *conv) batch(requests ...request) int {
	var calls []llm.Part
	for _, r := range requests {
		c.n++
		raw, ok := r.args.(string)
		if !ok {
			b, _ := json.Marshal(r.args)
			raw = string(b)
		}
		calls = append(calls, llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("call_%d", c.n), Name: r.name, Args: raw})
	}
	c.add(llm.Assistant, calls...)
	if !c.clock.IsZero() {
		c.clock = c.clock.Add(5 * time.Minute)
	}
	first := len(c.messages)
	for i, r := range requests {
		c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: calls[i].CallID, Text: r.result})
	}
	return first
}

// read adds a successful read of lines a to b of a file of total lines.
func (c *conv) read(path string, a, b, total int) int {
	return c.call("filesystem-read", map[string]any{"filePath": path, "startLine": a, "endLine": b}, shown(path, a, b, total))
}

// shown returns the result of filesystem-read. The text of a line depends only on the file's name and the line's number.
func shown(path string, a, b, total int) string {
	var s strings.Builder
	base := path[strings.LastIndexByte(path, '/')+1:]
	fmt.Fprintf(&s, "📄 %s (lines %d-%d/%d)\n", path, a, b, total)
	for n := a; n <= b; n++ {
		fmt.Fprintf(&s, "%d→the text of line %d of %s\n", n, n, base)
	}
	return strings.TrimSuffix(s.String(), "\n")
}

func newEngine(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sent plans and applies the edits. It also checks that the given messages were not changed (TRIM-1).
func sent(t testing.TB, e *Engine, messages []llm.Message) ([]llm.Message, *Plan) {
	t.Helper()
	before, _ := json.Marshal(messages)
	p := e.Plan(messages)
	out := llm.Apply(messages, p.Edits)
	if after, _ := json.Marshal(messages); string(after) != string(before) {
		t.Fatal("planning changed the stored messages")
	}
	for _, e := range p.Edits {
		if messages[e.Message].Parts[e.Part].Text == e.Text {
			t.Fatalf("the edit of message %d changes nothing", e.Message)
		}
	}
	if len(p.Edits) != len(p.Omissions) {
		t.Fatalf("%d edits, %d trims", len(p.Edits), len(p.Omissions))
	}
	return out, p
}

// left lists the indexes of the messages that became one line.
func left(in, out []llm.Message) []int {
	var is []int
	for i := range in {
		if in[i].Parts[0].Text != out[i].Parts[0].Text {
			is = append(is, i)
		}
	}
	return is
}
