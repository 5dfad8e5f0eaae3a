package agent_test

import (
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
)

// A fork continues with what was known; the original session does not change.
func TestFork(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{Turns: []llmtest.Turn{
		llmtest.Say("I read.", llmtest.Call("read_file", `{"path":"a.txt"}`)), llmtest.Say("Read."),
		llmtest.Say("I edit.", llmtest.Call("edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`)), llmtest.Say("Edited."),
	}}, nil, nil)
	n := new(noted)
	r.asks.Approver = n
	r.put("a.txt", "one\n")
	c := r.begin()
	r.run(c, "Read.")
	at := c.State().Last
	f, err := c.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	r.run(f, "Edit.")
	if r.get("a.txt") != "two\n" || c.State().Last != at || f.State().From != (session.Link{Session: c.ID(), Seq: at, Relation: session.Forked}) {
		t.Fatalf("%q, %+v", r.get("a.txt"), f.State().From)
	}
	for _, q := range n.asked {
		if len(q.Notes) > 0 {
			t.Errorf("%s: %v", q.Path, q.Notes)
		}
	}
	// For the first session this is a change by another program.
	r.run(c, "Well?")
	if r.in("-one\n+two\n") != 1 {
		t.Fatal(texts(r.sent()))
	}
}

// A session can be rewound to before its compaction. The session that followed the compaction does not change, and is no longer the
// next one. A rewind to the compaction itself changes nothing.
func TestBeforeTheCompaction(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, says("Yes."), func(a *agent.Agent) { a.Prompt.System = "Short." })
	c := r.begin()
	r.run(c, "One, which is said at some length, so that a summary of it is shorter than it.")
	old, at := c.ID(), c.State().Last
	r.run(c, "Two.")
	if err := c.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	next := c.ID()
	rewind := func(to uint64) {
		t.Helper()
		ses, err := session.Resume(t.Context(), r.store, old)
		if err != nil {
			t.Fatal(err)
		}
		if err := ses.Append(t.Context(), session.Title("gone back")); err != nil {
			t.Fatal(err)
		}
		if err := ses.Rewind(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	closed := c.State().From.Seq + 1
	if e := r.stored(old)[closed-1]; e.Kind() != session.KindCompaction {
		t.Fatalf("event %d is a %s", closed, e.Kind())
	}
	rewind(closed)
	if got := r.resume(old).ID(); got != next {
		t.Fatalf("%s goes on, not %s", got, next)
	}
	rewind(at)
	back := r.resume(old)
	if back.ID() != old || roles(back.State().Messages) != "user assistant" {
		t.Fatalf("%s, %s", back.ID(), roles(back.State().Messages))
	}
	r.run(back, "Three.")
	if r.in("Two.") != 0 || r.in("One, which") != 1 || r.resume(next).ID() != next {
		t.Fatal(texts(r.sent()))
	}
	// After a rewind to the compaction, the summary still holds, but the old session is not open again.
	rewind(closed)
	if got := roles(r.resume(old).State().Messages); got != "user assistant user assistant" {
		t.Fatal(got)
	}
}
