package mcpserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// The client's user can decide, in every revision. If the answer is not a decision, the question goes to the person elsewhere.
func TestElicit(t *testing.T) {
	answers := []struct {
		name   string
		answer *mcp.ElicitResult
		err    error
		want   string // expected in the result; "": the person elsewhere is asked
		wrote  bool
	}{
		{"approve", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil, `{"success":true}`, true},
		{"say no", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false, "words": "not this one"}}, nil, "and says: not this one", false},
		{"decline", &mcp.ElicitResult{Action: "decline"}, nil, "user_rejected", false},
		{"cancel", &mcp.ElicitResult{Action: "cancel"}, nil, "cancelled", false},
		{"accept unread", &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil, "", false},
		{"accept a word", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": "true"}}, nil, "", false},
		{"break", nil, errors.New("no window"), "", false},
	}
	for _, revision := range revisions {
		for _, a := range answers {
			t.Run(revision+"/"+a.name, func(t *testing.T) {
				if revision == v2026 && a.want == "" {
					t.Skip("the SDK's client gives up then; see TestResume")
				}
				synctest.Test(t, func(t *testing.T) {
					n := newNotes("write_*")
					s := newServer(t, Config{Caller: n.handler, Await: true})
					var asked *mcp.ElicitParams
					c, end := client(t, s, revision, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						time.Sleep(20 * time.Second)
						asked = r.Params
						return a.answer, a.err
					}})
					defer end()
					r, err := c.CallTool(context.Background(), withProgress("write_note", map[string]any{"path": "a\u202e", "text": "ring\x07"}))
					if a.want == "" {
						if err == nil {
							pendingID(t, r)
						}
						n.decide(t, approval.Reject, "")
						return
					}
					if err != nil || !strings.Contains(textOf(t, r), a.want) {
						t.Fatalf("%v %+v", err, r)
					}
					if _, written := n.get("a\u202e"); written != a.wrote {
						t.Errorf("written: %v", written)
					}
					if asked == nil || !strings.Contains(asked.Message, "Allow it? write_note wants to write a<U+202E> (") ||
						!strings.Contains(asked.Message, "\nWithout an answer until ") || !strings.Contains(asked.Message, "\n+ring<U+0007>\n") {
						t.Errorf("asked %+v", asked)
					}
				})
			})
		}
	}
}

// The client's user is not asked if an answer from the client is not enough, or if the client cannot ask.
func TestNoElicit(t *testing.T) {
	for _, revision := range revisions {
		for _, sufficient := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				n := newNotes()
				if sufficient {
					n = newNotes("*")
				}
				s := newServer(t, Config{Caller: n.handler, Await: true})
				o := &mcp.ClientOptions{}
				if !sufficient {
					o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						t.Error("the client's user is asked")
						return &mcp.ElicitResult{Action: "decline"}, nil
					}
				}
				c, end := client(t, s, revision, o)
				defer end()
				id := pendingID(t, call(t, c, "write_note", aNote))
				n.decide(t, approval.Approve, "")
				if r := call(t, c, awaitName, map[string]any{"pending": id}); r.IsError {
					t.Errorf("%s", textOf(t, r))
				}
			})
		}
	}
}

// The client's own user has time to decide, also without progress. If no person can be asked, the result says so.
func TestOwnUser(t *testing.T) {
	for _, revision := range revisions {
		synctest.Test(t, func(t *testing.T) {
			n := newNotes("*")
			s := newServer(t, Config{Caller: n.handler, Await: true})
			c, end := client(t, s, revision, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				time.Sleep(maxSilence - time.Second)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			}})
			defer end()
			if r := call(t, c, "write_note", aNote); textOf(t, r) != `{"success":true}` {
				t.Errorf("%s: %s", revision, textOf(t, r))
			}
			n.handler.Approver = Relay{}
			other, end2 := client(t, s, revision, nil)
			defer end2()
			if r := call(t, other, "write_note", aNote); !r.IsError || !strings.Contains(textOf(t, r), "permission_denied") {
				t.Errorf("%s: %s", revision, textOf(t, r))
			}
		})
	}
}

// In the stateless revision the user's answer belongs to one call of one session.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes("write_*")
		s := newServer(t, Config{Caller: n.handler, Await: true})
		c, end := client(t, s, v2026, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Error("asked by itself")
				return nil, errors.New("no")
			},
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		})
		defer end()
		r := call(t, c, "write_note", aNote)
		if len(r.InputRequests) != 1 || r.RequestState == "" {
			t.Fatalf("no question: %+v", r)
		}
		yes := mcp.InputResponseMap{formKey: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}}
		bad := map[string]*mcp.CallToolParams{
			"another state":  {Name: "write_note", Arguments: aNote, InputResponses: yes, RequestState: r.RequestState + "x"},
			"another tool":   {Name: "read_note", Arguments: aNote, InputResponses: yes, RequestState: r.RequestState},
			"another target": {Name: "write_note", Arguments: map[string]any{"path": "b", "text": "new"}, InputResponses: yes, RequestState: r.RequestState},
		}
		for name, p := range bad {
			if r, err := c.CallTool(context.Background(), p); err == nil {
				t.Errorf("%s: %+v", name, r)
			}
		}
		// An answer without its question is a new call. A question without an answer is asked again.
		r2, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "write_note", Arguments: aNote, InputResponses: yes})
		if err != nil || len(r2.InputRequests) != 1 || r2.RequestState == r.RequestState {
			t.Errorf("%v %+v", err, r2)
		}
		r3, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "write_note", Arguments: aNote, RequestState: r.RequestState})
		if err != nil || len(r3.InputRequests) != 1 || r3.RequestState != r.RequestState {
			t.Errorf("%v %+v", err, r3)
		}
		if _, written := n.get("a"); written {
			t.Fatal("written without an answer")
		}
		again := &mcp.CallToolParams{Name: "write_note", Arguments: map[string]any{"text": "new", "path": "a"}, InputResponses: yes, RequestState: r.RequestState}
		r, err = c.CallTool(context.Background(), again)
		if err != nil || textOf(t, r) != `{"success":true}` {
			t.Errorf("%v %+v", err, r)
		}
		if _, err := c.CallTool(context.Background(), again); err == nil {
			t.Error("the same answer was taken twice")
		}
		// If the answer is not a decision, the question goes to the person elsewhere.
		for _, unclear := range []mcp.InputResponse{
			&mcp.ElicitResult{Action: "accept"}, &mcp.ElicitResult{Action: "perhaps"},
		} {
			r, err := c.CallTool(context.Background(), &mcp.CallToolParams{
				Name: "write_note", Arguments: aNote, RequestState: r2.RequestState, InputResponses: mcp.InputResponseMap{formKey: unclear},
			})
			if err != nil {
				t.Fatal(err)
			}
			id := pendingID(t, r)
			n.decide(t, approval.Reject, "")
			if r := call(t, c, awaitName, map[string]any{"pending": id}); !r.IsError {
				t.Errorf("%#v: %s", unclear, textOf(t, r))
			}
			if r2, err = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "write_note", Arguments: aNote}); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(n.calls()); got != 4 {
			t.Errorf("%d calls", got)
		}
	})
}

func TestNoAnswer(t *testing.T) {
	if _, err := answerOf(approval.Question{}, nil); err != errUnclear {
		t.Error(err)
	}
	a, err := answerOf(approval.Question{}, &mcp.ElicitResult{
		Action: "decline", Content: map[string]any{"words": strings.Repeat("é", maxWords)},
	})
	if err != nil || len(a.Words) != maxWords || !a.Relayed || a.Approves() {
		t.Errorf("%d bytes of words, %v", len(a.Words), err)
	}
}

// If a diff is missing or too long, the client's user is not asked: they would not know what they approve.
func TestMessage(t *testing.T) {
	for diff, want := range map[string]bool{"": false, "+x\n": true, strings.Repeat("+x\n", maxShown): false} {
		if _, ok := messageOf(approval.Question{Diff: tool.ParseDiff(diff)}); ok != want {
			t.Errorf("%.10q: %v", diff, ok)
		}
	}
	q := approval.Question{
		Tool: "write_file", Path: "a\nb", Write: true, Before: "x", After: "y", Size: 7,
		Diff: tool.ParseDiff("-a\r\n+\x1b[2K \u00a0é世\n+\u2066x"), Notes: []tool.Note{tool.ReadOnly},
	}
	q.Complete()
	got, _ := messageOf(q)
	want := "Allow it? write_file wants to write a<U+000A>b (7 bytes).\nNote: the file's mode forbids writing\n\n-a<U+000D>\n+<U+001B>[2K \u00a0é世\n+<U+2066>x\n"
	if got != want {
		t.Errorf("%q", got)
	}
}
