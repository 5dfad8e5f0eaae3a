package gateway

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// A session grant holds only in the workspace of its question: the session's questions about another workspace stay open. (FILE-6)
func TestGrantIsOfOneWorkspace(t *testing.T) {
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		write := func(workspace string) (*bench, *future) {
			b := newBench(t, Relay{}, policy.Policy{})
			s := board(t, h, "host-a")
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			host := &Host{Workspace: workspace, Caller: b.handler}
			go func() { done <- host.run(ctx, s.dial) }()
			t.Cleanup(func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			args := json.RawMessage(`{"path":"a.txt","content":"one"}`)
			return b, begin(ctx, h.Caller(workspace), tool.Call{Session: "s", Name: "write_file", Arguments: args})
		}
		here, first := write("v")
		synctest.Wait()
		there, second := write("w")
		synctest.Wait()
		open := queue.Open()
		if len(open) != 2 {
			t.Fatalf("%d questions are open", len(open))
		}
		if err := queue.Answer(open[0].ID, approval.Answer{Verdict: approval.ForSession, Seal: open[0].Seal}); err != nil {
			t.Fatal(err)
		}
		first.wait(t, "", `"success":true`)
		synctest.Wait()
		if left := queue.Open(); len(left) != 1 || left[0].ID != open[1].ID {
			t.Fatalf("%+v", left)
		}
		if err := queue.Answer(open[1].ID, approval.Answer{Verdict: approval.Reject}); err != nil {
			t.Fatal(err)
		}
		second.wait(t, tool.UserRejected, "rejected")
		if here.get(t, "a.txt") != "one" || there.get(t, "a.txt") != "" {
			t.Error("written in the wrong place")
		}
	})
}

// No question is asked about a call that failed because its host was lost, when the host is back. Its caller knows that it failed,
// and may have repeated it. (FILE-4)
func TestLostCallIsNotAskedAbout(t *testing.T) {
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		b := newBench(t, Relay{}, policy.Policy{})
		s := board(t, h, "host-a")
		stop := s.host(b.handler)
		defer stop()
		synctest.Wait()
		s.conns[0].freeze() // the host's frames no longer arrive
		args := json.RawMessage(`{"path":"a.txt","content":"one"}`)
		f := begin(ctx, h.Caller("w"), tool.Call{Session: "s", Name: "write_file", Arguments: args})
		synctest.Wait()
		s.cut(false)
		f.wait(t, tool.HostUnavailable, "was lost")
		time.Sleep(away / 2) // the host is back, and sends the question again
		synctest.Wait()
		for _, q := range queue.Open() {
			t.Errorf("%s of %s is asked about", q.Tool, q.Path)
		}
		time.Sleep(usualApproval)
		if out := b.outcomes(t); len(out) != 0 || b.get(t, "a.txt") != "" {
			t.Errorf("%+v", out)
		}
	})
}

// A question about an unknown call is answered with an error. No person sees it.
func TestQuestionAboutNoCall(t *testing.T) {
	queue := new(approval.Queue)
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		host := rawHost(t, h, wire.CanAsk)
		host.send(&wire.Approval{ID: "1", CallID: "gateway-a-s/1", Question: &approval.Question{Path: "a.txt", Write: true}})
		if a := want[*wire.Approval](host); a.ID != "1" || a.Answer != nil || a.Code != string(tool.Cancelled) {
			t.Errorf("%+v", a)
		}
		if open := queue.Open(); len(open) != 0 {
			t.Errorf("%+v", open)
		}
	})
}
