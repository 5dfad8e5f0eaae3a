package approval_test

import (
	"slices"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// FILE-6: a grant also answers the session's open questions that it covers, and no other question.
func TestGrantAnswersOpenQuestions(t *testing.T) {
	for _, test := range []struct {
		answer  approval.Answer
		covered map[string]bool
		how     string
	}{
		{approval.Answer{Verdict: approval.ForSession, By: "desk"}, map[string]bool{"b.txt": true, "c.go": true}, "approved for the session"},
		{approval.Answer{Verdict: approval.ForPattern, Pattern: "*.txt", By: "desk"}, map[string]bool{"b.txt": true}, "approved for *.txt"},
		{approval.Answer{Verdict: approval.Approve, By: "desk"}, map[string]bool{}, "approved"},
	} {
		t.Run(string(test.answer.Verdict), func(t *testing.T) {
			h := newRig(t)
			h.file(".envrc", "", 0o644)
			sub := h.queue.Subscribe()
			defer sub.Close()
			first := h.start(t.Context(), call("s", "put", "a.txt", "x"))
			asked := h.next(sub)
			others := map[string]*pending{}
			for _, path := range []string{"b.txt", "c.go", ".envrc"} { // the last one is asked about each time
				others[path] = h.start(t.Context(), call("s", "put", path, "x"))
				h.next(sub)
			}
			stranger := h.start(t.Context(), call("other", "put", "d.txt", "x"))
			h.next(sub)
			h.answer(asked, test.answer)
			open := map[string]approval.Question{}
			for _, q := range h.queue.Open() {
				open[q.Path] = q
			}
			if len(open) != 4-len(test.covered) || open["d.txt"].ID == "" || open[".envrc"].ID == "" {
				t.Fatalf("open are %d", len(open))
			}
			for range test.covered { // before the question that was answered
				if e, err := sub.Next(t.Context()); err != nil || e.Closed == nil || e.Closed.ID == asked.ID || e.Closed.By != "desk" {
					t.Errorf("event %+v, %v", e, err)
				}
			}
			if e, err := sub.Next(t.Context()); err != nil || e.Closed == nil || e.Closed.ID != asked.ID {
				t.Errorf("event %+v, %v", e, err)
			}
			code(t, h.wait(first), "")
			for path, p := range others {
				want := tool.Code("")
				if !test.covered[path] {
					h.answer(open[path], approval.Answer{Verdict: approval.Reject})
					want = tool.UserRejected
				}
				code(t, h.wait(p), want)
			}
			h.answer(open["d.txt"], approval.Answer{Verdict: approval.Cancel})
			code(t, h.wait(stranger), tool.Cancelled)
			if test.covered["b.txt"] {
				h.has("b.txt", "x")
				done, err := h.trail.Entries(t.Context(), record.TrailQuery{Session: "s", Kinds: []record.Kind{record.Outcome}})
				if i := slices.IndexFunc(done, func(e record.Entry) bool { return e.Path == "b.txt" }); err != nil || i < 0 ||
					done[i].Decision != test.how || done[i].By != "person desk" {
					t.Errorf("%v; the trail says %+v", err, done)
				}
			}
		})
	}
}
