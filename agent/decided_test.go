package agent_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
)

// answers answers each question by its path.
type answers map[string]approval.Answer

func (a answers) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	answer := a[q.Path]
	answer.Seal, answer.By = q.Seal, "ann"
	return answer, nil
}

// A person's decision is stored with their words: a resume and an export have it. The conversation's messages do not.
func TestDecisions(t *testing.T) {
	write := func(id, path string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: id, Name: "write_file", Args: `{"path":"` + path + `","content":"new\n"}`}
	}
	r := newRig(t, "messages", llmtest.Script{}, turns(
		says("", write("one", "a.txt")), says("", write("two", "b.txt")), says("", write("three", "c.txt"), write("four", "d.txt")),
	), func(a *agent.Agent) { a.Parallel = 1 })
	r.asks.Approver = answers{
		"a.txt": {Verdict: approval.Reject, Words: "not this\none"}, "b.txt": {Verdict: approval.Approve},
		"c.txt": {Verdict: approval.ForPattern, Pattern: "*.txt"}, // d.txt is not asked about any more
	}
	c := r.begin()
	r.run(c, "\n  Write   them, \nin their order.")
	want := []session.Approval{
		{CallID: "one", Tool: "write_file", Path: "a.txt", Decision: "rejected", By: "person ann", Words: "not this\none"},
		{CallID: "two", Tool: "write_file", Path: "b.txt", Decision: "approved", By: "person ann"},
		{CallID: "three", Tool: "write_file", Path: "c.txt", Decision: "approved", By: "person ann", Grant: "*.txt"},
	}
	st := c.State()
	if !reflect.DeepEqual(st.Approvals, want) || st.Title != "Write them," || r.get("d.txt") != "new\n" {
		t.Fatalf("%+v, title %q, d.txt %q", st.Approvals, st.Title, r.get("d.txt"))
	}
	if got := r.resume(c.ID()).State(); !reflect.DeepEqual(got, st) {
		t.Fatalf("resumed: %+v", got)
	}

	var out bytes.Buffer
	if err := session.WriteJSON(&out, c.ID(), r.stored(c.ID())); err != nil {
		t.Fatal(err)
	}
	read, err := session.ReadJSON(&out)
	if err != nil || !reflect.DeepEqual(session.FoldEvents(c.ID(), read.Events), st) {
		t.Fatalf("exported: %+v, %v", read, err)
	}
	if err := session.WriteMarkdown(&out, st); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"# Write them,\n",
		"## Decision (5)\n\nrejected: write_file of `a.txt`, call `one`, by person ann\n\n> not this\n> one\n",
		"\n\napproved: write_file of `c.txt`, call `three`, by person ann, and from then on for `*.txt`\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in\n%s", line, out.String())
		}
	}

	// The messages are the same without the decisions.
	var without []session.Event
	for _, e := range read.Events {
		if e.Kind() != session.KindApproval && e.Kind() != session.KindTitle {
			e.Seq = uint64(len(without)) + 1
			without = append(without, e)
		}
	}
	if got := session.FoldEvents(c.ID(), without); !reflect.DeepEqual(got.Messages, st.Messages) || !reflect.DeepEqual(got.Files, st.Files) {
		t.Fatal("what was decided changes the conversation")
	}
}

// refusingStore is a store that refuses decisions.
type refusingStore struct{ session.Store }

var errFull = errors.New("no room")

func (d refusingStore) Append(ctx context.Context, batches ...session.Batch) error {
	for _, b := range batches {
		for _, e := range b.Events {
			if e.Kind() == session.KindApproval {
				return errFull
			}
		}
	}
	return d.Store.Append(ctx, batches...)
}

// A decision is stored before the write.
func TestDecisionBeforeTheWrite(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, says("", call("write_file", `{"path":"a.txt","content":"new\n"}`)), func(a *agent.Agent) {
		a.Store = refusingStore{a.Store}
	})
	r.put("a.txt", "old\n")
	if _, err := r.try(t.Context(), r.begin(), "Write."); !errors.Is(err, errFull) || r.get("a.txt") != "old\n" {
		t.Fatalf("%v, a.txt %q", err, r.get("a.txt"))
	}
}

// The first line of the first prompt is the session's title until a person sets one.
func TestTitle(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, says("Yes."), nil)
	c := r.begin()
	r.run(c, strings.Repeat("many words ", 20))
	if got := c.State().Title; got != "many words many words many words many words many words many words many words ma…" {
		t.Fatalf("%q", got)
	}
	r.run(c, "More.")
	other, err := session.Resume(t.Context(), r.store, c.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(t.Context(), session.Title("the plan")); err != nil {
		t.Fatal(err)
	}
	r.run(c, "And more.")
	titles := 0
	for _, e := range r.stored(c.ID()) {
		if e.Kind() == session.KindTitle {
			titles++
		}
	}
	if got := r.resume(c.ID()).State().Title; got != "the plan" || titles != 2 {
		t.Fatalf("%q, %d titles", got, titles)
	}
}
