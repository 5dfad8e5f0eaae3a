package approval_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// several is a tool that writes the same text to three files.
type several struct {
	put  *fileTool
	fail int // number of the file whose write fails; 0: none
}

func (s *several) Spec() tool.Spec { return tool.Spec{Name: "several", Destructive: true} }

func (s *several) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	p := &tool.Plan{Call: c, Path: ".", Before: "b", After: "a", Size: 3}
	var each []*tool.Plan
	for _, name := range []string{"one", "two", "secret/three"} {
		one, err := s.put.Plan(ctx, call(c.Session, "put", name, "x"))
		if err != nil {
			return nil, err
		}
		each = append(each, one)
		p.Files = append(p.Files, tool.File{Path: one.Path, Before: one.Before, After: one.After, Size: one.Size})
	}
	p.Apply = func(ctx context.Context) (tool.Result, error) {
		for i, one := range each {
			if i+1 == s.fail {
				return tool.Result{Text: "1 of 3", Code: tool.ConcurrentModification}, nil
			}
			if _, err := one.Apply(ctx); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Text: "done"}, nil
	}
	return p, nil
}

// A call that writes to several files gets the strictest decision, and each file is recorded.
func TestSeveralFiles(t *testing.T) {
	h := newRig(t)
	h.file("secret/old", "", 0o644)
	tools := &several{put: h.put}
	if err := h.Tools.Add(tools); err != nil {
		t.Fatal(err)
	}
	rule := func(path string, do policy.Action) policy.Rule {
		p, err := policy.ParsePattern(path)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Rule{Paths: []policy.Pattern{p}, Do: do}
	}
	h.Policy.Rules = []policy.Rule{rule("secret/**", policy.Deny), rule("**", policy.Allow)}
	code(t, h.run(call("s", "several", "", "")), tool.PermissionDenied)

	h.Policy.Rules[0].Do = policy.Ask
	sub := h.queue.Subscribe()
	defer sub.Close()
	p := h.start(t.Context(), call("s", "several", "", ""))
	q := h.next(sub)
	if len(q.Files) != 3 || q.Files[2].Path != "secret/three" || q.Size != 3 {
		t.Errorf("asked %+v", q)
	}
	err := h.queue.Answer(q.ID, approval.Answer{Verdict: approval.ForPattern, Seal: q.Seal, Pattern: "secret/**"})
	if err == nil {
		t.Error("a pattern for one file approves all")
	}
	h.answer(q, approval.Answer{Verdict: approval.Approve})
	code(t, h.wait(p), "")
	h.has("secret/three", "x")
	writes, err := record.Writes(t.Context(), h.trail, "s", 0)
	if err != nil || len(writes) != 3 || writes[2].Path != "secret/three" || writes[2].Open || writes[0].Before != "" || writes[0].After == "a" {
		t.Errorf("%+v, %v", writes, err)
	}

	tools.fail = 2 // the result of the other files is not known
	p = h.start(t.Context(), call("s", "several", "", ""))
	h.answer(h.next(sub), approval.Answer{Verdict: approval.Approve})
	code(t, h.wait(p), tool.ConcurrentModification)
	writes, err = record.Writes(t.Context(), h.trail, "s", 0)
	if err != nil || len(writes) != 6 || !writes[3].Open || !writes[5].Open {
		t.Errorf("%+v, %v", writes, err)
	}
}

// When a tool breaks, the caller gets an error and the trail an entry.
func TestToolBreaks(t *testing.T) {
	h := newRig(t)
	broken := errors.New("disk on fire")
	if err := h.Tools.Add(breaking{broken}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), call("s", "break", "a", "")); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.Journal.Flush(t.Context())
	if res, err := h.Call(ctx, call("s", "break", "a", "")); err != nil || res.Code != tool.Cancelled {
		t.Errorf("%v, %v", res, err)
	}
	h.said("s", "call break a: refused by handler: error", "call break a: cancelled by caller: cancelled")
}

type breaking struct{ err error }

func (breaking) Spec() tool.Spec { return tool.Spec{Name: "break"} }
func (b breaking) Plan(context.Context, tool.Call) (*tool.Plan, error) {
	return nil, fmt.Errorf("read: %w", b.err)
}
