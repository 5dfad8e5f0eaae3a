package approval_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// newUnattendedRig returns a rig whose policy asks no questions.
func newUnattendedRig(t *testing.T) *rig {
	h := newRig(t)
	h.Policy = &policy.Policy{Rules: []policy.Rule{{Do: policy.Allow}}}
	h.Rate = -1
	return h
}

// begin starts calls in this order, runs them concurrently, and returns their results.
func (h *rig) begin(calls ...tool.Call) []chan tool.Result {
	var out []chan tool.Result
	var do []func(context.Context) (tool.Result, error)
	for _, c := range calls {
		do = append(do, h.Start(c))
		out = append(out, make(chan tool.Result, 1))
	}
	for i := len(do) - 1; i >= 0; i-- { // start the last call first
		go func() {
			res, err := do[i](h.t.Context())
			if err != nil {
				h.t.Error(err)
			}
			out[i] <- res
		}()
		synctest.Wait()
	}
	return out
}

// A session's calls to one file run in the order in which they came, under any name of the file.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newUnattendedRig(t)
		var calls []tool.Call
		for i := range 20 {
			names := []string{"a.txt", "./a.txt", ".//a.txt"}
			calls = append(calls, call("s", "put", "a.txt", fmt.Sprint(i)), call("s", "get", names[i%3], ""))
		}
		out := h.begin(calls...)
		for i := range 20 {
			code(t, <-out[2*i], "")
			if res := <-out[2*i+1]; res.Text != fmt.Sprint(i) {
				t.Errorf("read %d: %+v", i, res)
			}
		}
	})
}

// A call does not wait for unrelated calls: calls to another file, calls of another session, reads, and calls that wait for a
// person.
func TestUnrelatedCallsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newUnattendedRig(t)
		h.file("a.txt", "one", 0o644)
		release := make(chan struct{})
		h.put.onApply = func(p *tool.Plan) {
			if p.Path == "a.txt" {
				<-release
			}
		}
		out := h.begin(
			call("s", "put", "a.txt", "two"), call("s", "get", "a.txt", ""),
			call("s", "put", "b.txt", "b"), call("s", "get", "b.txt", ""), call("other", "get", "a.txt", ""),
			call("s", "no tool", "a.txt", ""))
		ended := func() string {
			var s strings.Builder
			for i := range out {
				fmt.Fprint(&s, len(out[i]))
			}
			return s.String()
		}
		if got := ended(); got != "001110" && got != "001111" {
			t.Errorf("ended: %s", got)
		}
		close(release)
		synctest.Wait()
		if res := <-out[1]; res.Text != "two" {
			t.Errorf("the read before the write: %+v", res)
		}

		h = newRig(t) // this rig asks
		h.file("a.txt", "one", 0o644)
		out = h.begin(call("s", "put", "a.txt", "two"), call("s", "get", "a.txt", ""), call("s", "put", "a.txt", "three"))
		if res := <-out[1]; res.Text != "one" {
			t.Errorf("%+v", res)
		}
		open := h.queue.Open()
		if len(open) != 2 || len(out[0])+len(out[2]) > 0 {
			t.Fatalf("%d questions", len(open))
		}
		for _, q := range open {
			if err := h.queue.Answer(q.ID, approval.Answer{Verdict: approval.Reject}); err != nil {
				t.Error(err)
			}
		}
		code(t, <-out[0], tool.UserRejected)
		code(t, <-out[2], tool.UserRejected)
	})
}

// A call that is cancelled while it waits leaves its turn. Later calls still run after the earlier ones.
func TestOrderCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newUnattendedRig(t)
		release := make(chan struct{})
		h.put.onApply = func(p *tool.Plan) { <-release }
		out := h.begin(call("s", "put", "a.txt", "one"))
		ctx, cancel := context.WithCancel(t.Context())
		second := h.Start(call("s", "put", "a.txt", "two"))
		gone := make(chan tool.Result, 1)
		go func() {
			res, _ := second(ctx)
			gone <- res
		}()
		last := h.begin(call("s", "get", "a.txt", ""))
		cancel()
		code(t, <-gone, tool.Cancelled)
		synctest.Wait()
		if len(last[0]) > 0 {
			t.Error("it came before the first")
		}
		close(release)
		code(t, <-out[0], "")
		if res := <-last[0]; res.Text != "one" {
			t.Errorf("%+v", res)
		}
	})
}

// A call without a path may touch any file below the root: later calls wait for it, and it waits for earlier calls.
func TestOrderOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newUnattendedRig(t)
		h.file("a.txt", "one", 0o644)
		release := make(chan struct{})
		h.put.onApply = func(p *tool.Plan) { <-release }
		out := h.begin(call("s", "put", "dir.txt", "x"), call("s", "get", "", ""), call("s", "get", "dir", ""))
		if len(out[1]) != 0 || len(out[2]) != 1 {
			t.Errorf("ended: %d, %d", len(out[1]), len(out[2]))
		}
		close(release)
		<-out[0]
		<-out[1]
	})
}
