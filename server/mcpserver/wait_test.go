package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
)

// progressed records the progress messages of a client, with their times.
type progressed struct {
	at   []time.Duration
	what []string
	last float64
	bad  bool
}

func (p *progressed) options() *mcp.ClientOptions {
	begun := time.Now()
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		p.at = append(p.at, time.Since(begun).Round(time.Millisecond))
		p.what = append(p.what, r.Params.Message)
		p.bad = p.bad || len(p.at) > 1 && r.Params.Progress <= p.last || r.Params.ProgressToken != "t"
		p.last = r.Params.Progress
	}}
}

func withProgress(name string, args any) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Meta: mcp.Meta{}, Name: name, Arguments: args}
	p.SetProgressToken("t")
	return p
}

var aNote = map[string]any{"path": "a", "text": "new"}

func pendingID(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	var p struct {
		Success bool
		Needs   bool `json:"needs_confirmation"`
		Pending string
	}
	if err := json.Unmarshal([]byte(textOf(t, r)), &p); err != nil {
		t.Fatal(err)
	}
	if p.Success || !p.Needs || r.IsError {
		t.Fatalf("pending: %s", textOf(t, r))
	}
	return p.Pending
}

// A client that asked for progress is told at once that a person is asked. Then it gets progress at least every 30 s, until the
// person has decided.
func TestProgress(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNotes()
				s := newServer(t, Config{Caller: n.handler, Await: true, Wait: 10 * time.Minute})
				var p progressed
				c, end := client(t, s, revision, p.options())
				defer end()
				go func() {
					time.Sleep(100 * time.Second)
					n.decide(t, approval.Approve, "")
				}()
				r, err := c.CallTool(context.Background(), withProgress("write_note", aNote))
				if err != nil || textOf(t, r) != `{"success":true}` {
					t.Fatalf("%v %+v", err, r)
				}
				synctest.Wait()
				if len(p.at) != 7 || p.at[0] > time.Second || p.bad {
					t.Errorf("progress at %v, bad: %v", p.at, p.bad)
				}
				for i := 1; i < len(p.at); i++ {
					if d := p.at[i] - p.at[i-1]; d > 30*time.Second {
						t.Errorf("silent for %v", d)
					}
				}
				if p.what[0] != "waiting for a person to confirm write_note a" {
					t.Errorf("says %q", p.what[0])
				}
			})
		})
	}
}

// A long call without a question also sends progress, and is never pending.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Caller: newNotes().handler, Await: true})
		var p progressed
		c, end := client(t, s, v2025b, p.options())
		defer end()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if _, err := c.CallTool(ctx, withProgress("hang", nil)); err == nil {
			t.Error("it ended")
		}
		if len(p.at) != 8 || p.at[0] != firstProgress || p.what[0] != "working" {
			t.Errorf("progress at %v: %v", p.at, p.what)
		}
	})
}

// A client without progress is told at once that the call is pending. It gets the result with await_result.
func TestPending(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNotes()
				s := newServer(t, Config{Caller: n.handler, Await: true})
				c, end := client(t, s, revision, nil)
				defer end()
				begun := time.Now()
				id := pendingID(t, call(t, c, "write_note", aNote))
				if d := time.Since(begun); d > 0 {
					t.Errorf("pending after %v", d)
				}
				// await_result is also answered in time while no person decides.
				if again := pendingID(t, call(t, c, awaitName, map[string]any{"pending": id})); again != id {
					t.Errorf("id %s became %s", id, again)
				}
				if d := time.Since(begun); d != maxSilence {
					t.Errorf("awaited for %v", d)
				}
				if _, written := n.get("a"); written {
					t.Error("written before the decision")
				}
				go func() {
					time.Sleep(10 * time.Second)
					n.decide(t, approval.Approve, "")
				}()
				for range 2 { // the result is kept, so it can be fetched twice
					if r := call(t, c, awaitName, map[string]any{"pending": id}); textOf(t, r) != `{"success":true}` || r.IsError {
						t.Errorf("await: %s", textOf(t, r))
					}
				}
				if text, _ := n.get("a"); text != "new" {
					t.Errorf("note is %q", text)
				}
				time.Sleep(s.config.Keep + time.Second)
				id2 := pendingID(t, call(t, c, "write_note", aNote))
				go n.decide(t, approval.Reject, "no, thanks")
				if r := call(t, c, awaitName, map[string]any{"pending": id2}); !r.IsError || !strings.Contains(textOf(t, r), "and says: no, thanks") {
					t.Errorf("rejected: %s", textOf(t, r))
				}
				if r := call(t, c, awaitName, map[string]any{"pending": id}); !r.IsError {
					t.Errorf("kept for ever: %s", textOf(t, r))
				}
			})
		})
	}
}

// With progress a call becomes pending before clients give up on it.
func TestPendingBeforeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		s := newServer(t, Config{Caller: n.handler, Await: true})
		var p progressed
		c, end := client(t, s, v2025b, p.options())
		defer end()
		begun := time.Now()
		r, err := c.CallTool(context.Background(), withProgress("write_note", aNote))
		if err != nil {
			t.Fatal(err)
		}
		id := pendingID(t, r)
		if d := time.Since(begun); d != 45*time.Second {
			t.Errorf("pending after %v", d)
		}
		go n.decide(t, approval.Approve, "")
		if r := call(t, c, awaitName, map[string]any{"pending": id}); r.IsError {
			t.Errorf("await: %s", textOf(t, r))
		}
	})
}

// A call ends if the client cancels it. If the client cancels await_result, the call continues.
func TestCancel(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNotes()
				s := newServer(t, Config{Caller: n.handler, Await: true, Wait: time.Hour})
				c, end := client(t, s, revision, nil)
				defer end()
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				if _, err := c.CallTool(ctx, withProgress("write_note", aNote)); err == nil {
					t.Fatal("it ended")
				}
				synctest.Wait()
				if len(s.calls.sessions) != 0 {
					t.Errorf("still there: %v", s.calls.sessions)
				}
				if len(n.queue.Open()) > 0 {
					t.Error("a person is still asked")
				}

				id := pendingID(t, call(t, c, "write_note", aNote))
				ctx2, cancel2 := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel2()
				if _, err := c.CallTool(ctx2, withProgress(awaitName, map[string]any{"pending": id})); err == nil {
					t.Fatal("it ended")
				}
				go n.decide(t, approval.Approve, "")
				if r := call(t, c, awaitName, map[string]any{"pending": id}); r.IsError {
					t.Errorf("await: %s", textOf(t, r))
				}
			})
		})
	}
}

// When the client disconnects, its pending calls are cancelled.
func TestDisconnectCancelsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		s := newServer(t, Config{Caller: n.handler, Await: true})
		c, end := client(t, s, v2025b, nil)
		pendingID(t, call(t, c, "write_note", aNote))
		end()
		synctest.Wait()
		if len(s.calls.sessions) != 0 {
			t.Errorf("still there: %v", s.calls.sessions)
		}
		if _, written := n.get("a"); written {
			t.Error("written")
		}
	})
}

// Without await_result a call is never pending.
func TestNoAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		s := newServer(t, Config{Caller: n.handler})
		c, end := client(t, s, v2025b, nil)
		defer end()
		go func() {
			time.Sleep(5 * time.Minute)
			n.decide(t, approval.Approve, "")
		}()
		if r := call(t, c, "write_note", aNote); r.IsError {
			t.Errorf("%s", textOf(t, r))
		}
	})
}

func TestAwaitArguments(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true})
	c, end := client(t, s, v2025b, nil)
	defer end()
	id := pendingID(t, call(t, c, "write_note", aNote))
	for _, args := range []any{
		nil, map[string]any{}, map[string]any{"pending": ""}, map[string]any{"pending": 7}, map[string]any{"pending": "OTHER"},
		map[string]any{"id": "OTHER"}, map[string]any{"pending": id, "x": 1}, []int{1},
	} {
		r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: awaitName, Arguments: args})
		if err == nil && (!r.IsError || !strings.Contains(textOf(t, r), "invalid_argument: ")) {
			t.Errorf("%v: %s", args, textOf(t, r))
		}
	}
	// Another client session cannot get the result.
	s2 := newServer(t, Config{Caller: n.handler, Await: true})
	c2, end2 := client(t, s2, v2025b, nil)
	defer end2()
	if r := call(t, c2, awaitName, map[string]any{"pending": id}); !r.IsError {
		t.Errorf("another session: %s", textOf(t, r))
	}
}
