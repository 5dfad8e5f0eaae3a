package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

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

// An approval over a WebSocket counts only after the person was shown the whole change, page by page. (FILE-6)
func TestLargeChangeIsShown(t *testing.T) {
	queue := &approval.Queue{Bytes: 1 << 30}
	bubble(t, Config{Queue: queue}, func(t *testing.T, h *Hub, _ *logged) {
		person := join(t, h, "person-desk")
		person.hello(wire.Hello{Role: wire.Person})
		diff := strings.Repeat("größer\n", 2*(4<<20)/9)
		for _, c := range []struct {
			name string
			q    approval.Question
			text string
		}{
			{"a diff", approval.Question{Diff: tool.ParseDiff(diff), Content: []byte("short")}, diff},
			{"no diff", approval.Question{Path: "a", Content: []byte(diff)}, tool.CompareTexts("a", "", diff).Text()},
			{"nothing", approval.Question{Notes: []tool.Note{tool.Large}}, ""},
			{"a diff that fits", approval.Question{Diff: tool.ParseDiff(diff[:(4<<20)/9*9])}, diff[:(4<<20)/9*9]},
		} {
			c.q.Seal = "seal"
			decided := make(chan error, 1)
			go func() {
				_, err := queue.Ask(ctx, c.q)
				decided <- err
			}()
			opened := want[*wire.Approval](person)
			id, paged := opened.ID, slices.Contains(opened.Question.Notes, wire.Paged)
			if paged != (len(c.text) > 4<<20) || !paged && opened.Question.Diff.Text() != c.text {
				t.Errorf("%s: notes %v, %d bytes of a diff", c.name, opened.Question.Notes, len(opened.Question.Diff.Text()))
			}
			approve := func() *wire.Approval {
				person.send(&wire.Approval{ID: id, Answer: &approval.Answer{Verdict: "approve", Seal: "seal"}})
				return want[*wire.Approval](person)
			}
			page := func(from int) *wire.Approval {
				person.send(&wire.Approval{ID: id, Page: &wire.Page{From: from}})
				return want[*wire.Approval](person)
			}
			var shown strings.Builder
			for paged && shown.Len() < len(c.text) {
				if r := approve(); r.Done || r.Code != string(tool.InvalidArgument) || !strings.Contains(r.Error, "page by page") {
					t.Fatalf("%s: approved when %d bytes were shown: %+v", c.name, shown.Len(), r)
				}
				if r := page(shown.Len() + 1); r.Page != nil || r.Error == "" {
					t.Fatalf("%s: a page is left out: %+v", c.name, r)
				}
				r := page(shown.Len())
				if r.Page == nil || r.Page.Bytes != len(c.text) || r.Page.Text == "" || !utf8.ValidString(r.Page.Text) {
					t.Fatalf("%s: %s", c.name, r.Error)
				}
				shown.WriteString(r.Page.Text)
			}
			if paged && shown.String() != c.text {
				t.Errorf("%s: another text is shown", c.name)
			}
			if c.text == "" {
				if r := approve(); r.Done || !strings.Contains(r.Error, "too large to be shown") {
					t.Errorf("%s: %+v", c.name, r)
				}
				person.send(&wire.Approval{ID: id, Answer: &approval.Answer{Verdict: "reject"}})
				want[*wire.Approval](person)
			} else {
				approve()
			}
			want[*wire.Approval](person) // it is closed
			if err := <-decided; err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if r := page(0); r.Error == "" {
				t.Errorf("%s: a page of a question that is closed", c.name)
			}
		}
	})
}
