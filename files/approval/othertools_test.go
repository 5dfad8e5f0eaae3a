package approval_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// outsideTool is a tool that acts outside of the workspace. It counts its calls.
type outsideTool struct {
	name  string
	reads bool
	done  *int
}

func (f outsideTool) Spec() tool.Spec { return tool.Spec{Name: f.name, ReadOnly: f.reads} }

func (f outsideTool) Plan(_ context.Context, c tool.Call) (*tool.Plan, error) {
	return &tool.Plan{
		Call: c, Diff: tool.Diff{Other: string(c.Arguments)}, Notes: []tool.Note{tool.Outside},
		Apply: func(context.Context) (tool.Result, error) { *f.done++; return tool.Result{Text: "done"}, nil },
	}, nil
}

// Other tools follow the rules of the handler's own tools: a reading tool runs, another one is asked about, and a grant covers only
// that tool. The trail has these calls, but not as writes to a file.
func TestWith(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "one\n", 0o644)
	looked, sent, gone := 0, 0, 0
	other := new(tool.Set)
	if err := other.Add(outsideTool{"look", true, &looked}, outsideTool{"send", false, &sent}, outsideTool{"remove", false, &gone}, outsideTool{"get", false, &gone}); err != nil {
		t.Fatal(err)
	}
	w := h.With(other)
	run := func(name string) tool.Result {
		t.Helper()
		res, err := w.Call(t.Context(), call("s", name, "a.txt", "x"))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	asked := func(name string, a approval.Answer) (tool.Result, approval.Question) {
		t.Helper()
		sub := h.queue.Subscribe()
		defer sub.Close()
		done := make(chan tool.Result, 1)
		go func() {
			res, err := w.Call(context.WithoutCancel(t.Context()), call("s", name, "a.txt", "x"))
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		q := h.next(sub)
		h.answer(q, a)
		return <-done, q
	}
	if res := run("get"); res.Text != "one\n" { // the handler's own tool
		t.Errorf("%+v", res)
	}
	code(t, run("look"), "")
	code(t, run("nothing"), tool.InvalidArgument)
	_, q := asked("put", approval.Answer{Verdict: approval.ForSession})
	if q.Outside() {
		t.Errorf("%+v", q)
	}
	res, q := asked("send", approval.Answer{Verdict: approval.Reject}) // the grant was for files
	if code(t, res, tool.UserRejected); !q.Outside() || q.Path != "" || q.Diff.Empty() || !q.Write || !q.Grantable {
		t.Errorf("%+v", q)
	}
	if res, _ := asked("send", approval.Answer{Verdict: approval.ForSession, By: "desk"}); res.Text != "done" {
		t.Errorf("%+v", res)
	}
	code(t, run("send"), "")
	res, _ = asked("remove", approval.Answer{Verdict: approval.Cancel})
	code(t, res, tool.Cancelled)
	if looked != 1 || sent != 2 || gone != 0 {
		t.Error(looked, sent, gone)
	}
	writes, err := record.Writes(t.Context(), h.trail, "s", 0)
	if err != nil || len(writes) != 1 || writes[0].Tool != "put" {
		t.Errorf("writes %+v, %v", writes, err)
	}
	var trail []string
	for _, kind := range []record.Kind{record.Intent, record.Outcome} {
		entries, err := h.trail.Entries(t.Context(), record.TrailQuery{Session: "s", Kinds: []record.Kind{kind}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Tool != "put" {
				trail = append(trail, string(e.Kind)+" "+e.Tool+" "+e.Path+" "+e.Before+e.After+e.By)
			}
		}
	}
	want := []string{
		"intent look  policy default", "intent send  person desk", "intent send  policy grant send",
		"outcome look  policy default", "outcome send  person desk", "outcome send  policy grant send",
	}
	if len(trail) != len(want) {
		t.Fatalf("%q", trail)
	}
	for i := range want {
		if trail[i] != want[i] {
			t.Errorf("%q, want %q", trail[i], want[i])
		}
	}
	var names []string
	for _, s := range w.Specs() {
		names = append(names, s.Name)
	}
	if !slices.IsSorted(names) || !slices.Contains(names, "send") || len(names) != len(h.Specs())+3 {
		t.Error(names)
	}
}

// A session grant for such a tool also answers the session's open questions about that tool, and no other question.
func TestWithGrantAnswersOpenQuestions(t *testing.T) {
	h := newRig(t)
	done := 0
	other := new(tool.Set)
	if err := other.Add(outsideTool{"send", false, &done}, outsideTool{"remove", false, &done}); err != nil {
		t.Fatal(err)
	}
	w := h.With(other)
	sub := h.queue.Subscribe()
	defer sub.Close()
	ended := make(chan tool.Code, 4)
	questions := map[string]approval.Question{}
	for _, c := range []tool.Call{
		call("s", "send", "", "1"), call("s", "send", "", "2"), call("s", "remove", "", "3"), call("s", "put", "a.txt", "4"),
	} {
		go func() {
			res, err := w.Call(context.WithoutCancel(t.Context()), c)
			if err != nil {
				t.Error(err)
			}
			ended <- res.Code
		}()
		questions[c.Name] = h.next(sub)
	}
	h.answer(questions["send"], approval.Answer{Verdict: approval.ForSession})
	code(t, tool.Result{Code: <-ended}, "")
	code(t, tool.Result{Code: <-ended}, "")
	if open := h.queue.Open(); len(open) != 2 {
		t.Errorf("%+v", open)
	}
	h.answer(questions["remove"], approval.Answer{Verdict: approval.Reject})
	code(t, tool.Result{Code: <-ended}, tool.UserRejected)
	h.answer(questions["put"], approval.Answer{Verdict: approval.Reject})
	code(t, tool.Result{Code: <-ended}, tool.UserRejected)
}
