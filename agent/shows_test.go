package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// withNotes puts the current NOTES.md into the prompt.
func (r *rig) withNotes() {
	r.t.Helper()
	text, shows, err := r.tools.Show(r.t.Context(), "", freshness.File{Path: "NOTES.md"}, 10_000)
	if err != nil || len(shows) != 1 {
		r.t.Fatal(shows, err)
	}
	r.agent.Prompt = agent.Prompt{System: "You work.", Variables: []agent.Variable{{Name: "notes", Text: text, Shows: shows}}}
}

// A file in the prompt is in view: it can be changed without being read, and another program's change is reported once, as for any
// file, while the prompt stays unchanged. The next process shows the new content in the prompt. (CTX-5, CTX-8)
func TestFileInPrompt(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		edit := call("edit_file", `{"path":"NOTES.md","edits":[{"old_text":"two","new_text":"three"}]}`)
		r := newRig(t, wire, llmtest.Script{}, turns(says("Hm."), says("Hm."), says("Hm."), says("", edit), says("Edited."),
			says("Hm."), says("Hm."), says("Hm.")), nil)
		asked := new(noted)
		r.asks.Approver = asked
		r.put("NOTES.md", "one\n")
		r.withNotes()
		c := r.begin()
		r.run(c, "First.")
		first := texts(r.sent())
		if !strings.Contains(first, "NOTES.md, lines 1-1 of 1:\none\n") {
			t.Fatal(first)
		}
		r.put("NOTES.md", "two\n")
		r.run(c, "Second.")
		if err := c.Rewind(t.Context(), c.State().Last); err != nil {
			t.Fatal(err)
		}
		r.run(c, "Third.")
		if now := texts(r.sent()); !strings.HasPrefix(now, first) || strings.Count(now, "-one\n+two\n") != 1 {
			t.Fatal(now)
		}
		r.run(c, "Edit.")
		if r.get("NOTES.md") != "three\n" || len(asked.asked) != 1 || len(asked.asked[0].Notes) > 0 {
			t.Fatalf("%q, %+v", r.get("NOTES.md"), asked.asked)
		}
		r.put("NOTES.md", "four\n")
		r.run(c, "And?")
		r.run(c, "And?")
		if n := len(r.told(agent.Changed)); n != 2 {
			t.Fatalf("%d changes are told, of 2", n)
		}
		r.again()
		r.withNotes()
		r.run(r.resume(c.ID()), "Fourth.")
		if now := texts(r.sent()); !strings.Contains(now, "of 1:\nfour\n") || strings.Contains(now, "of 1:\none\n") || len(r.told(agent.Changed)) != 2 {
			t.Fatal(now)
		}
	})
}

// After a compaction the prompt still shows the file, and the file can be changed without being read. (CTX-4)
func TestFileInPromptCompacted(t *testing.T) {
	edit := call("edit_file", `{"path":"NOTES.md","edits":[{"old_text":"one","new_text":"two"}]}`)
	r := newRig(t, "messages", llmtest.Script{}, turns(says("Fine, and that is all there is to say."), says("Fine."), says("", edit)), nil)
	asked := new(noted)
	r.asks.Approver = asked
	r.put("NOTES.md", "one\n")
	r.withNotes()
	c := r.begin()
	r.run(c, "Say something, so that a summary of it is shorter than it.")
	if err := c.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	r.run(c, "Edit.")
	if r.in("on disk now") != 0 || r.in("NOTES.md, lines 1-1 of 1:\none\n") != 1 {
		t.Fatal(texts(r.sent()))
	}
	if r.get("NOTES.md") != "two\n" || len(asked.asked) != 1 || len(asked.asked[0].Notes) > 0 {
		t.Fatalf("%q, %+v", r.get("NOTES.md"), asked.asked)
	}
}

// If that file has changed, it is attached with its new content after a compaction. It is checked even if many other files are
// used. (CTX-4, CTX-8)
func TestFileInPromptOutdated(t *testing.T) {
	var calls []llm.Part
	for i := range 210 {
		calls = append(calls, call("read_file", fmt.Sprintf(`{"path":"%d.txt"}`, i)))
		calls[i].CallID = fmt.Sprintf("call_%d", i)
	}
	r := newRig(t, "messages", llmtest.Script{}, turns(says("", calls...), says("Read."), says("Hm."), says("Files.")), func(a *agent.Agent) {
		a.Limits.Window = 200_000
	})
	r.put("NOTES.md", "one\n")
	r.withNotes()
	for i := range calls {
		r.put(fmt.Sprintf("%d.txt", i), fmt.Sprintf("file %d\n", i))
	}
	c := r.begin()
	r.run(c, "Read many files.")
	r.put("NOTES.md", "two\n")
	r.run(c, "Go on.")
	if r.in("-one\n+two\n") != 1 {
		t.Fatal("the change of a file that the prompt shows is not told")
	}
	if err := c.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	r.run(c, "Well?")
	if r.in("on disk now: NOTES.md, lines 1-1 of 1:\ntwo\n") != 1 {
		t.Fatal(texts(r.sent()))
	}
	r.put("NOTES.md", "three\n")
	r.run(c, "And now?")
	if r.in("-two\n+three\n") != 1 {
		t.Fatal(texts(r.sent()))
	}
}
