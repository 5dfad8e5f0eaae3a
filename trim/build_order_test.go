package trim

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TRIM-12: all requests are built in one place. So the same holds for a normal turn, a resumed session, a rewind to an earlier
// point, and the session that a compaction has opened. The conversation is never changed.
func TestBuildInEveryWay(t *testing.T) {
	c := &conv{clock: noon}
	c.user("read it")
	var at []int
	for range 7 {
		at = append(at, c.read("a.ts", 1, 50, 50))
	}
	e := keep(t)
	placeholders := func(messages []llm.Message) int {
		built, plan := e.Build(messages)
		n := 0
		for _, m := range built {
			for _, p := range m.Parts {
				if strings.HasPrefix(p.Text, mark) {
					n++
				}
			}
		}
		if n != len(plan.Edits) {
			t.Errorf("%d lines in the request, %d in the plan", n, len(plan.Edits))
		}
		return n
	}
	stored := clone(c.messages)
	if got := placeholders(c.messages); got != 2 {
		t.Errorf("a turn: %d lines, want 2", got)
	}
	if got := placeholders(clone(stored)); got != 2 {
		t.Errorf("resumed: %d lines, want 2", got)
	}
	if got := placeholders(c.messages[:at[5]+1]); got != 1 {
		t.Errorf("rewound to the sixth read: %d lines, want 1", got)
	}
	compacted := append([]llm.Message{say(llm.User, words("what was done so far"))}, c.messages[at[1]-1:]...)
	if got := placeholders(compacted); got != 1 {
		t.Errorf("compacted, six reads kept: %d lines, want 1", got)
	}
	if !reflect.DeepEqual(stored, c.messages) {
		t.Error("the conversation was changed")
	}
}

// TRIM-13: orphans leave first, so a read in an orphan does not count among the K newest. Outputs of commands leave next, then
// reads.
func TestBuildOrder(t *testing.T) {
	c := &conv{clock: noon}
	c.user("go")
	for range 5 {
		c.read("a.ts", 1, 50, 50)
	}
	c.add(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "nobody's", Text: shown("a.ts", 1, 50, 50)})
	c.add(llm.Assistant, llm.Part{Kind: llm.ToolCall, CallID: "cut off", Name: "filesystem-read", Args: `{"filePath":"a.ts"}`})
	e := newEngine(t, Config{Policy: KeepLatest, ByContent: true})
	built, plan := e.Build(c.messages)
	if len(plan.Edits) != 0 || len(built) != 11 {
		t.Errorf("%d messages, left out %+v; the orphans should be gone and the five reads whole", len(built), plan.Omissions)
	}
	for range 6 {
		c.call("terminal-execute", `{"command":"make"}`, strings.Repeat("made\n", 50))
	}
	c.read("a.ts", 1, 50, 50)
	_, plan = e.Build(c.messages)
	var reasons []Reason
	for _, trim := range plan.Omissions {
		reasons = append(reasons, trim.Reason)
	}
	if !reflect.DeepEqual(reasons, []Reason{Older, Terminal}) {
		t.Errorf("%v", reasons)
	}
}

func clone(messages []llm.Message) []llm.Message {
	out := append([]llm.Message(nil), messages...)
	for i := range out {
		out[i].Parts = append([]llm.Part(nil), out[i].Parts...)
	}
	return out
}
