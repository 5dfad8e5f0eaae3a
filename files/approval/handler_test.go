package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// FILE-6, FILE-11: reads run without a question, writes are asked about, and every step is recorded.
func TestApprove(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "one\n", 0o644)
	if res := h.run(call("s", "get", "a.txt", "")); res.Text != "one\n" || res.CallID != "call_1" {
		t.Errorf("%+v", res)
	}
	res, q := h.asked(call("s", "put", "a.txt", "two\n"), approval.Answer{Verdict: approval.Approve, By: "desk"})
	code(t, res, "")
	h.has("a.txt", "two\n")
	if q.Path != "a.txt" || q.Size != 4 || !strings.Contains(q.Diff.Text(), "-one\n+two\n") || !q.Write || q.Session != "s" ||
		q.Client != "some-agent" || q.Tool != "put" || !q.Editable || q.Before == "" || q.After == "" || q.Expires.Sub(q.Asked) != 600*time.Second {
		t.Errorf("question %+v", q)
	}
	h.said("s",
		"call get a.txt: allowed by policy default: ok",
		"intent put a.txt: approved by person desk: ",
		"outcome put a.txt: approved by person desk: ok")
	writes, err := record.Writes(t.Context(), h.trail, "s", 0)
	if err != nil || len(writes) != 1 || writes[0].Before != q.Before || writes[0].After != q.After || writes[0].Root != h.dir ||
		writes[0].Open || writes[0].Bytes != 4 {
		t.Errorf("writes %+v, %v", writes, err)
	}
}

// FILE-6: a person can refuse in two ways: reject and cancel.
func TestRefuse(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "one\n", 0o644)
	res, _ := h.asked(call("s", "put", "a.txt", "two"), approval.Answer{Verdict: approval.Reject, Words: "use tabs", By: "desk"})
	code(t, res, tool.UserRejected)
	if !strings.HasPrefix(res.Text, "put USER_REJECTED") || !strings.Contains(res.Text, "use tabs") {
		t.Errorf("the model reads %q", res.Text)
	}
	res, _ = h.asked(call("s", "put", "a.txt", "two"), approval.Answer{Verdict: approval.Reject})
	code(t, res, tool.UserRejected)
	res, _ = h.asked(call("s", "put", "a.txt", "two"), approval.Answer{Verdict: approval.Cancel})
	code(t, res, tool.Cancelled)
	h.has("a.txt", "one\n")
	h.said("s",
		"call put a.txt: rejected by person desk: user_rejected",
		"call put a.txt: rejected by person: user_rejected",
		"call put a.txt: cancelled by person: cancelled")
}

// FILE-4: no person answers.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t)
		start := time.Now()
		code(t, h.run(call("s", "put", "a.txt", "x")), tool.Timeout)
		if d := time.Since(start); d != 600*time.Second {
			t.Errorf("it waited %v", d)
		}
		h.Timeout = time.Minute
		start = time.Now()
		code(t, h.run(call("s", "put", "a.txt", "x")), tool.Timeout)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("it waited %v", d)
		}
		h.has("a.txt", "")
		if open := h.queue.Open(); len(open) != 0 {
			t.Errorf("still open: %v", open)
		}
		h.said("s",
			"call put a.txt: timeout by handler: timeout",
			"call put a.txt: timeout by handler: timeout")
	})
}

// The caller disconnects or its time is over: the question is withdrawn.
func TestCallerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		p := h.start(ctx, call("s", "put", "a.txt", "x"))
		synctest.Wait()
		cancel()
		code(t, h.wait(p), tool.Cancelled)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p = h.start(ctx, call("s", "put", "a.txt", "x"))
		<-p.done
		code(t, h.wait(p), tool.Timeout)
		if len(h.queue.Open()) != 0 {
			t.Error("still open")
		}
		h.has("a.txt", "")
	})
}

// FILE-6: an approval for more than one call.
func TestGrants(t *testing.T) {
	h := newRig(t)
	res, _ := h.asked(call("s", "put", "one.txt", "x"), approval.Answer{Verdict: approval.ForPattern, Pattern: "*.txt"})
	code(t, res, "")
	code(t, h.run(call("s", "put", "two.txt", "x")), "")
	res, _ = h.asked(call("s", "put", "c.go", "x"), approval.Answer{Verdict: approval.Reject})
	code(t, res, tool.UserRejected)
	res, _ = h.asked(call("other", "put", "three.txt", "x"), approval.Answer{Verdict: approval.Reject})
	code(t, res, tool.UserRejected)
	res, _ = h.asked(call("s", "put", "c.go", "x"), approval.Answer{Verdict: approval.ForSession, By: "desk"})
	code(t, res, "")
	code(t, h.run(call("s", "put", "d.go", "x")), "")
	h.said("s",
		"intent put one.txt: approved for *.txt by person: ",
		"outcome put one.txt: approved for *.txt by person: ok",
		"intent put two.txt: allowed by policy grant *.txt: ",
		"outcome put two.txt: allowed by policy grant *.txt: ok",
		"call put c.go: rejected by person: user_rejected",
		"intent put c.go: approved for the session by person desk: ",
		"outcome put c.go: approved for the session by person desk: ok",
		"intent put d.go: allowed by policy grant session: ",
		"outcome put d.go: allowed by policy grant session: ok")
	h.End("s")
	res, _ = h.asked(call("s", "put", "e.go", "x"), approval.Answer{Verdict: approval.Reject})
	code(t, res, tool.UserRejected)
}

// FILE-13: control files and executables are asked about each time.
func TestAlwaysAsked(t *testing.T) {
	h := newRig(t)
	h.file("run.sh", "#!/bin/sh\n", 0o755)
	h.file(".envrc", "", 0o644)
	h.Policy.Rules = []policy.Rule{{Do: policy.Allow}}
	sub := h.queue.Subscribe()
	defer sub.Close()
	for _, path := range []string{"run.sh", ".envrc", ".vscode/tasks.json"} {
		if path == ".vscode/tasks.json" {
			h.file(".vscode/settings.json", "{}", 0o644)
		}
		for i := range 2 {
			p := h.start(t.Context(), call("s", "put", path, fmt.Sprint("x", i)))
			q := h.next(sub)
			if q.Grantable {
				t.Errorf("%s can be granted", path)
			}
			for _, v := range []approval.Verdict{approval.ForSession, approval.ForPattern} {
				if err := h.queue.Answer(q.ID, approval.Answer{Verdict: v, Seal: q.Seal, Pattern: "**"}); err == nil {
					t.Errorf("%s is granted by %s", path, v)
				}
			}
			h.answer(q, approval.Answer{Verdict: approval.Approve})
			code(t, h.wait(p), "")
		}
	}
	h.Approver = nil
	for _, path := range []string{"run.sh", ".envrc"} {
		code(t, h.run(call("s", "put", path, "y")), tool.PermissionDenied)
		h.has(path, "x1")
	}
	code(t, h.run(call("s", "put", "plain", "y")), "")
}

// FILE-6: the person edits the content before approving.
func TestEdit(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "one\n", 0o644)
	res, _ := h.asked(call("s", "put", "a.txt", "two\n"), approval.Answer{Verdict: approval.Edit, Content: []byte("three\n")})
	code(t, res, "")
	h.has("a.txt", "three\n")
	writes, err := record.Writes(t.Context(), h.trail, "s", 0)
	if err != nil || len(writes) != 1 || writes[0].After == "" || writes[0].Bytes != 6 {
		t.Errorf("%+v, %v", writes, err)
	}
	h.said("s",
		"intent put a.txt: edited by person: ",
		"outcome put a.txt: edited by person: ok")

	// The file changes while the person edits: the merge is shown before it is written.
	h.file("a.txt", "1\n2\n3\n4\n5\n", 0o644)
	sub := h.queue.Subscribe()
	defer sub.Close()
	p := h.start(t.Context(), call("s", "put", "a.txt", "one\n2\n3\n4\n5\n"))
	q := h.next(sub)
	h.file("a.txt", "1\n2\n3\n4\nfive\n", 0o644)
	h.answer(q, approval.Answer{Verdict: approval.Edit, Content: []byte("ONE\n2\n3\n4\n5\n")})
	q = h.next(sub)
	if q.Again != 1 || string(q.Content) != "ONE\n2\n3\n4\nfive\n" {
		t.Errorf("asked again: %+v", q)
	}
	h.answer(q, approval.Answer{Verdict: approval.Approve})
	code(t, h.wait(p), "")
	h.has("a.txt", "ONE\n2\n3\n4\nfive\n")
}

// FILE-15: the file changes while the person looks at the diff.
func TestChangedMeanwhile(t *testing.T) {
	h := newRig(t)
	h.file("a.txt", "1\n2\n3\n4\n5\n", 0o644)
	sub := h.queue.Subscribe()
	defer sub.Close()
	p := h.start(t.Context(), call("s", "put", "a.txt", "one\n2\n3\n4\n5\n"))
	q := h.next(sub)
	h.file("a.txt", "1\n2\n3\n4\nfive\n", 0o644)
	h.answer(q, approval.Answer{Verdict: approval.Approve})
	again := h.next(sub)
	h.has("a.txt", "1\n2\n3\n4\nfive\n")
	if again.Again != 1 || again.Before == q.Before || again.Seal == q.Seal || len(again.Notes) != 1 || again.Notes[0] != tool.Merged {
		t.Errorf("asked again: %+v", again)
	}
	h.answer(again, approval.Answer{Verdict: approval.Approve})
	code(t, h.wait(p), "")
	h.has("a.txt", "one\n2\n3\n4\nfive\n")
	h.said("s",
		"intent put a.txt: approved by person: ",
		"outcome put a.txt: approved by person: concurrent_modification",
		"intent put a.txt: approved by person:  [merged]",
		"outcome put a.txt: approved by person: ok [merged]")

	p = h.start(t.Context(), call("s", "put", "a.txt", "uno\n2\n3\n4\nfive\n"))
	q = h.next(sub)
	h.file("a.txt", "eins\n2\n3\n4\nfive\n", 0o644)
	h.answer(q, approval.Answer{Verdict: approval.Approve})
	res := h.wait(p)
	code(t, res, tool.ConcurrentModification)
	if !strings.Contains(res.Text, "<<<<<<<") {
		t.Errorf("the conflict is not shown: %q", res.Text)
	}
	h.has("a.txt", "eins\n2\n3\n4\nfive\n")
}

// FILE-15: a person is asked again three times at most.
func TestKeepsChanging(t *testing.T) {
	h := newRig(t)
	line := func(n int) string { return "1\n2\n3\n4\n" + fmt.Sprint("changed ", n, "\n") }
	h.file("a.txt", line(0), 0o644)
	sub := h.queue.Subscribe()
	defer sub.Close()
	p := h.start(t.Context(), call("s", "put", "a.txt", "one\n2\n3\n4\nchanged 0\n"))
	for i := range 4 {
		q := h.next(sub)
		if q.Again != i {
			t.Errorf("asked for the %d. time: again %d", i+1, q.Again)
		}
		h.file("a.txt", line(i+1), 0o644)
		h.answer(q, approval.Answer{Verdict: approval.Approve})
	}
	code(t, h.wait(p), tool.ConcurrentModification)
	h.has("a.txt", line(4))
}

// An approval covers only what was shown.
func TestBound(t *testing.T) {
	h := newRig(t)
	sub := h.queue.Subscribe()
	defer sub.Close()
	first := h.start(t.Context(), call("s", "put", "a", "harmless"))
	q1 := h.next(sub)
	second := h.start(t.Context(), call("s", "put", "b", "harmful"))
	q2 := h.next(sub)
	for _, a := range []approval.Answer{
		{Verdict: approval.Approve},
		{Verdict: approval.Approve, Seal: q1.Seal},
		{Verdict: approval.Edit, Content: []byte("x"), Seal: q1.Seal},
		{Verdict: approval.ForPattern, Pattern: "a*", Seal: q2.Seal},
		{Verdict: approval.ForPattern, Pattern: "[", Seal: q2.Seal},
		{Verdict: approval.Approve, Seal: q2.Seal, Relayed: true},
		{Verdict: "yes", Seal: q2.Seal},
		{},
		{Verdict: approval.Reject, Words: strings.Repeat("no ", 5000)},
	} {
		if err := h.queue.Answer(q2.ID, a); err == nil {
			t.Errorf("accepted: %+v", a)
		}
	}
	if open := h.queue.Open(); len(open) != 2 {
		t.Errorf("%d are open", len(open))
	}
	h.answer(q1, approval.Answer{Verdict: approval.Approve})
	h.answer(q2, approval.Answer{Verdict: approval.Reject})
	code(t, h.wait(first), "")
	code(t, h.wait(second), tool.UserRejected)
	h.has("b", "")

	// An approver with an invalid answer writes nothing.
	h.Approver = relay{}
	if _, err := h.Call(t.Context(), call("s", "put", "c", "x")); err == nil || !strings.Contains(err.Error(), "does not suffice") {
		t.Errorf("relayed: %v", err)
	}
	h.has("c", "")
	name, err := policy.ParsePattern("put")
	if err != nil {
		t.Fatal(err)
	}
	h.Policy.Relay = []policy.Pattern{name}
	code(t, h.run(call("s", "put", "c", "x")), "")
	h.has("c", "x")
}

// relay answers like a client that says its person approved.
type relay struct{}

func (relay) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	return approval.Answer{Verdict: approval.Approve, Seal: q.Seal, Relayed: true}, nil
}

type noPerson struct{ err error }

func (n noPerson) Ask(context.Context, approval.Question) (approval.Answer, error) {
	return approval.Answer{}, n.err
}

func TestNobody(t *testing.T) {
	h := newRig(t)
	for _, a := range []approval.Approver{nil, noPerson{approval.ErrNoPerson}} {
		h.Approver = a
		code(t, h.run(call("s", "put", "a", "x")), tool.PermissionDenied)
	}
	h.Approver = noPerson{approval.ErrFull}
	code(t, h.run(call("s", "put", "a", "x")), tool.RateLimited)
	h.Approver = noPerson{context.DeadlineExceeded} // its own deadline has passed
	code(t, h.run(call("s", "put", "a", "x")), tool.Timeout)
	broken := errors.New("the terminal is on fire")
	h.Approver = noPerson{broken}
	if _, err := h.Call(t.Context(), call("s", "put", "a", "x")); !errors.Is(err, broken) {
		t.Error(err)
	}
	h.Policy.Unattended = true
	code(t, h.run(call("s", "put", "a", "x")), "")
	h.has("a", "x")
}

func TestUnknownTool(t *testing.T) {
	h := newRig(t)
	res := h.run(call("s", "rm", "a", ""))
	code(t, res, tool.InvalidArgument)
	if want := `{"success":false,"error":"invalid_argument: There is no tool \"rm\"."}`; res.Text != want {
		t.Errorf("got %s, want %s", res.Text, want)
	}
	h.file("a", "x", 0o644)
	h.Tools.Alias("cat", "get") // FILE-18
	code(t, h.run(call("s", "cat", "a", "")), "")
	h.said("s", "call rm a: refused by handler: invalid_argument", "call get a: allowed by policy default: ok")
	if specs := h.Specs(); len(specs) != 3 || specs[0].Name != "cat" || specs[0].Description != "The same as get." {
		t.Errorf("%v", specs)
	}
}

// FILE-10
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t)
		h.file("a", "x", 0o644)
		read := func(session string) tool.Result { return h.run(call(session, "get", "a", "")) }
		for i := range 100 {
			if res := read("s"); res.Failed() {
				t.Fatalf("call %d: %v", i+1, res)
			}
		}
		for range 3 {
			res := read("s")
			code(t, res, tool.RateLimited)
			if !strings.Contains(res.Text, "Try again in 60.0 s") {
				t.Errorf("the wait is not said: %q", res.Text)
			}
		}
		code(t, read("other"), "") // each session has its own limit
		time.Sleep(time.Minute)
		for range 100 {
			code(t, read("s"), "")
		}
		code(t, read("s"), tool.RateLimited)

		// Refused calls are in the trail, but do not fill it.
		if err := h.Journal.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := h.trail.Entries(t.Context(), record.TrailQuery{Session: "s"})
		if err != nil || len(entries) != 100+1+100+1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		if e := entries[100]; e.Outcome != "rate_limited" || e.By != "rate limit" {
			t.Errorf("%+v", e)
		}
		if e := entries[101]; e.Outcome != record.OK || fmt.Sprint(e.Flags) != "[after 3 over the rate limit]" {
			t.Errorf("%+v", e)
		}

		free := newRig(t)
		free.Rate = -1
		free.file("a", "x", 0o644)
		for range 300 {
			code(t, free.run(call("s", "get", "a", "")), "")
		}
	})
}

// FILE-11: the intent is in the trail before the file is written; without a trail nothing is written.
func TestIntentFirst(t *testing.T) {
	h := newRig(t)
	h.Policy.Unattended = true
	h.file("a.txt", "one", 0o644)
	seen := false
	h.put.onApply = func(p *tool.Plan) {
		v, err := record.Verify(context.Background(), h.trail)
		if err != nil || v.Broken != nil || len(v.Open) != 1 || v.Open[0].Before != p.Before || v.Open[0].After != p.After || v.Open[0].Path != "a.txt" {
			t.Errorf("before the write: %+v, %v", v, err)
		}
		h.has("a.txt", "one")
		seen = true
	}
	code(t, h.run(call("s", "put", "a.txt", "two")), "")
	if v, err := record.Verify(t.Context(), h.trail); err != nil || len(v.Open) != 0 || !seen {
		t.Errorf("after it: %+v, %v", v, err)
	}
	if err := h.trail.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), call("s", "put", "a.txt", "three")); !errors.Is(err, record.ErrClosed) {
		t.Error(err)
	}
	h.has("a.txt", "two")
}

// FILE-11: a write that broke has an intent without an outcome.
func TestOutcomeMissing(t *testing.T) {
	h := newRig(t)
	h.Policy.Unattended = true
	h.put.onApply = func(*tool.Plan) { panic("power cut") }
	func() {
		defer func() { _ = recover() }()
		_, _ = h.Call(t.Context(), call("s", "put", "a.txt", "x"))
	}()
	v, err := record.Verify(t.Context(), h.trail)
	if err != nil || v.Broken != nil || len(v.Open) != 1 || v.Open[0].Path != "a.txt" {
		t.Errorf("%+v, %v", v, err)
	}
}

// Policy also decides about reads: a denied read does not return content.
func TestDeniedRead(t *testing.T) {
	h := newRig(t)
	h.file("secret/key", "sesame", 0o600)
	secret, err := policy.ParsePattern("secret/**")
	if err != nil {
		t.Fatal(err)
	}
	h.Policy.Rules = []policy.Rule{{Paths: []policy.Pattern{secret}, Do: policy.Deny}}
	res := h.run(call("s", "get", "secret/key", ""))
	code(t, res, tool.PermissionDenied)
	if strings.Contains(res.Text, "sesame") {
		t.Error(res.Text)
	}
	h.Policy.Rules[0].Do = policy.Ask
	res, q := h.asked(call("s", "get", "secret/key", ""), approval.Answer{Verdict: approval.Approve})
	if code(t, res, ""); res.Text != "sesame" || q.Write || q.Editable || !q.Diff.Empty() {
		t.Errorf("%v, asked %+v", res, q)
	}
	// A read that is refused wrote nothing anyway.
	res, _ = h.asked(call("s", "get", "secret/key", ""), approval.Answer{Verdict: approval.Reject})
	if code(t, res, tool.UserRejected); !strings.Contains(res.Text, "Nothing was read.") {
		t.Error(res.Text)
	}
}

// FILE-11: a suspicious session.
func TestSuspicious(t *testing.T) {
	for _, do := range []policy.Response{policy.Flag, policy.Suspend, policy.RollBack} {
		t.Run(do.String(), func(t *testing.T) {
			h := newRig(t)
			h.Policy.Unattended = true
			h.Suspicion = policy.Suspicion{Escapes: 3, Do: do}
			h.RollBack = func(ctx context.Context, session string) error {
				writes, err := record.Writes(ctx, h.trail, session, 0)
				if err != nil || len(writes) != 1 {
					return fmt.Errorf("%d writes: %w", len(writes), err)
				}
				undo := call(session, "undo", writes[0].Path, "")
				p, err := h.put.Plan(ctx, undo)
				if err == nil {
					_, err = h.Apply(ctx, undo, p, "policy")
				}
				return err
			}
			code(t, h.run(call("s", "put", "a", "x")), "")
			for range 3 {
				code(t, h.run(call("s", "get", "../../etc/passwd", "")), tool.InvalidPath)
			}
			want := []string{
				"intent put a: allowed by policy unattended: ",
				"outcome put a: allowed by policy unattended: ok",
				"call get ../../etc/passwd: refused by tool: invalid_path",
				"call get ../../etc/passwd: refused by tool: invalid_path",
				"call get ../../etc/passwd: refused by tool: invalid_path [suspicious]",
				"alarm get : " + do.String() + " by policy: ok [suspicious escapes]",
			}
			after, left := tool.PermissionDenied, "x"
			switch do {
			case policy.Flag:
				after = ""
				want = append(want, "intent put b: allowed by policy unattended: ", "outcome put b: allowed by policy unattended: ok")
			case policy.RollBack:
				left = ""
				want = append(want, "suspend get : roll back by policy: ok [suspicious escapes]",
					"intent undo a: approved by policy: ", "outcome undo a: approved by policy: ok",
					"call roll back : roll back by policy: ok [suspicious escapes]", "call put b: refused by handler: permission_denied")
			default:
				want = append(want, "suspend get : suspend by policy: ok [suspicious escapes]", "call put b: refused by handler: permission_denied")
			}
			code(t, h.run(call("s", "put", "b", "x")), after)
			h.has("a", left)
			h.said("s", want...)
			code(t, h.run(call("other", "put", "c", "x")), "")
			if do == policy.Flag {
				return
			}

			// It stays suspended, also for another handler, until a person resumes it there.
			h.End("s")
			code(t, h.run(call("s", "put", "b", "x")), tool.PermissionDenied)
			elsewhere := &approval.Handler{Tools: h.Tools, Journal: h.Journal}
			if err := elsewhere.Resume(t.Context(), "s", "desk"); err != nil {
				t.Fatal(err)
			}
			code(t, h.run(call("s", "put", "b", "x")), "")
		})
	}
}

// A write that runs when the session is suspended ends before the session's writes are rolled back. A write that waits for a person
// is not done.
func TestSuspendWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t)
		h.Suspicion = policy.Suspicion{Escapes: 1, Do: policy.RollBack}
		var rolledBack []record.Write
		h.RollBack = func(ctx context.Context, session string) (err error) {
			rolledBack, err = record.Writes(ctx, h.trail, session, 0)
			return err
		}
		release := make(chan struct{})
		h.put.onApply = func(*tool.Plan) { <-release }
		sub := h.queue.Subscribe()
		defer sub.Close()
		writing := h.start(t.Context(), call("s", "put", "a", "x"))
		h.answer(h.next(sub), approval.Answer{Verdict: approval.Approve})
		synctest.Wait() // it is writing
		waiting := h.start(t.Context(), call("s", "put", "b", "x"))
		q := h.next(sub)
		escape := h.start(t.Context(), call("s", "get", "../x", ""))
		synctest.Wait()
		close(release)
		h.wait(escape)
		code(t, h.wait(writing), "")
		if len(rolledBack) != 1 || rolledBack[0].Path != "a" || rolledBack[0].Open {
			t.Errorf("rolled back: %+v", rolledBack)
		}
		h.answer(q, approval.Answer{Verdict: approval.Approve})
		code(t, h.wait(waiting), tool.PermissionDenied)
		h.has("b", "")
	})
}

// A question without an answer blocks no other call, in its own session or another one.
func TestStuckQuestion(t *testing.T) {
	h := newRig(t)
	h.file("a", "x", 0o644)
	sub := h.queue.Subscribe()
	defer sub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	stuck := h.start(ctx, call("s", "put", "a", "stuck"))
	h.next(sub)
	for _, session := range []string{"s", "other"} {
		code(t, h.run(call(session, "get", "a", "")), "")
		p := h.start(t.Context(), call(session, "put", "a", session))
		h.answer(h.next(sub), approval.Answer{Verdict: approval.Approve})
		code(t, h.wait(p), "")
		h.has("a", session)
	}
	cancel()
	code(t, h.wait(stuck), tool.Cancelled)
	h.has("a", "other")
}
