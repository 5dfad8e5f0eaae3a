package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens/exact"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/tool"
)

// tree is a directory with the real file tools, served over MCP.
type tree struct {
	dir    string
	url    string
	queue  *approval.Queue
	server *mcpserver.Server
}

func newTree(t testing.TB, p *policy.Policy) *tree {
	t.Helper()
	x := &tree{dir: t.TempDir(), queue: &approval.Queue{}}
	s, closeAll, err := treeServer(x.dir, workspace.Options{State: t.TempDir()}, p, x.queue)
	if err != nil {
		t.Fatal(err)
	}
	x.server = s
	l := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		closeAll()
		l.Close()
	})
	x.url = l.URL + "/mcp"
	return x
}

// treeServer builds the server from the same parts as "stet mcp".
func treeServer(dir string, o workspace.Options, p *policy.Policy, queue *approval.Queue) (*mcpserver.Server, func(), error) {
	root, err := workspace.Open(dir, o)
	if err != nil {
		return nil, nil, err
	}
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return nil, nil, err
	}
	set := &tool.Set{}
	if err := set.Add(tools.All()...); err != nil {
		return nil, nil, err
	}
	handler := &approval.Handler{Tools: set, Policy: p, Approver: mcpserver.Relay{Next: queue}, Root: dir, Rate: -1}
	s, err := mcpserver.New(mcpserver.Config{
		Caller: handler, Aliases: tools.Aliases(), Await: true, Version: "0",
		End:  func(session string) { handler.End(session); tools.End(session) },
		HTTP: mcpserver.HTTP{Tokens: []string{token}},
	})
	if err != nil {
		return nil, nil, err
	}
	return s, func() {
		s.Close()
		root.Close()
	}, nil
}

func (x *tree) put(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (x *tree) get(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decide waits for a question, and answers it.
func (x *tree) decide(t testing.TB, v approval.Verdict) approval.Question {
	t.Helper()
	for {
		if open := x.queue.Open(); len(open) > 0 {
			if err := x.queue.Answer(open[0].ID, approval.Answer{Verdict: v, Seal: open[0].Seal, By: "test"}); err != nil {
				t.Error(err)
			}
			return open[0]
		}
		time.Sleep(time.Millisecond)
	}
}

type withToken struct{ http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return w.RoundTripper.RoundTrip(r)
}

func (x *tree) client(t testing.TB, revision string) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: x.url, HTTPClient: &http.Client{Transport: withToken{transport}}},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		transport.CloseIdleConnections()
	})
	return c
}

// operation is the result of a file tool, or what the server answers for a pending call.
type operation struct {
	result
	Data map[string]any
	text string
}

func do(t testing.TB, c *mcp.ClientSession, name string, args any) operation {
	t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || len(r.Content) != 1 || r.StructuredContent != nil {
		t.Fatalf("%s: %+v", name, r)
	}
	o := operation{text: text.Text}
	if err := json.Unmarshal([]byte(text.Text), &o); err != nil {
		t.Fatalf("%s: %v: %.500s", name, err, text.Text)
	}
	o.Failed = r.IsError
	return o
}

type args = map[string]any

// A session with the real tools: a read, an edit with a person's approval, and undo.
func TestFiles(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			x := newTree(t, nil)
			x.put(t, "a.txt", "one\r\ntwo\r\n")
			c := x.client(t, revision)
			if o := do(t, c, "read_file", args{"path": "a.txt"}); o.Content != "one\r\ntwo\r\n" || o.Failed {
				t.Errorf("read: %s", o.text)
			}
			if o := do(t, c, "LS", args{}); o.Failed || !strings.Contains(o.text, "a.txt") {
				t.Errorf("LS: %s", o.text)
			}
			edit := args{"path": "a.txt", "edits": []args{{"old_text": "two", "new_text": "2"}}}
			o := do(t, c, "edit_file", edit)
			if o.Pending == "" || o.Failed {
				t.Fatalf("edit: %s", o.text)
			}
			if q := x.decide(t, approval.Approve); q.Path != "a.txt" || q.Client != "tester 1" || !strings.Contains(q.Diff.Text(), "+2") {
				t.Errorf("asked: %+v", q)
			}
			if o := do(t, c, "await_result", args{"pending": o.Pending}); o.Failed || !o.Success {
				t.Errorf("edit: %s", o.text)
			}
			if got := x.get(t, "a.txt"); got != "one\r\n2\r\n" {
				t.Errorf("edited: %q", got)
			}
			o = do(t, c, "write_file", args{"path": "a.txt", "content": "all new\n"})
			x.decide(t, approval.Reject)
			if o := do(t, c, "await_result", args{"pending": o.Pending}); !o.Failed || !o.is("user_rejected") {
				t.Errorf("rejected: %s", o.text)
			}
			o = do(t, c, "undo", args{"all": true})
			x.decide(t, approval.Approve)
			if o := do(t, c, "await_result", args{"pending": o.Pending}); o.Failed {
				t.Errorf("undo: %s", o.text)
			}
			if got := x.get(t, "a.txt"); got != "one\r\ntwo\r\n" {
				t.Errorf("undone: %q", got)
			}
			for name, a := range map[string]args{
				"read_file": {"path": "../a.txt"}, "write_file": {"path": "/etc/x", "content": ""}, "Read": {"path": "a.txt", "limit": 0},
				"edit_file": {"path": "a.txt", "edits": []args{{"old_text": "three", "new_text": "3"}}},
			} {
				if o := do(t, c, name, a); !o.Failed {
					t.Errorf("%s %v: %s", name, a, o.text)
				}
			}
		})
	}
}

// If the client cancels a call while a person is asked, the call does not write, and its question is withdrawn.
func TestCancelled(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			x := newTree(t, nil)
			c := x.client(t, revision)
			ctx, cancel := context.WithCancel(context.Background())
			p := &mcp.CallToolParams{Meta: mcp.Meta{}, Name: "write_file", Arguments: args{"path": "new.txt", "content": "x"}}
			p.SetProgressToken("1")
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, p)
				ended <- err
			}()
			for len(x.queue.Open()) == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("answered")
			}
			for len(x.queue.Open()) > 0 {
				time.Sleep(time.Millisecond)
			}
			if _, err := os.Stat(filepath.Join(x.dir, "new.txt")); err == nil {
				t.Error("written")
			}
		})
	}
}

// Many clients at once, in all revisions: no edit is lost, and no result goes to another client.
func TestAtOnce(t *testing.T) {
	x := newTree(t, &policy.Policy{Unattended: true})
	const clients, edits = 6, 30
	for i := range clients {
		x.put(t, fmt.Sprintf("%d.txt", i), strings.Repeat("-\n", edits))
	}
	var wg sync.WaitGroup
	for i := range clients {
		c := x.client(t, []string{"2025-06-18", "2025-11-25", "2026-07-28"}[i%3])
		wg.Go(func() {
			name := fmt.Sprintf("%d.txt", i)
			do(t, c, "read_file", args{"path": name})
			for n := range edits {
				line := strings.Repeat(fmt.Sprintf("%d\n", i), n)
				o := do(t, c, "edit_file", args{"path": name, "edits": []args{{
					"old_text": line + strings.Repeat("-\n", edits-n), "new_text": line + fmt.Sprintf("%d\n", i) + strings.Repeat("-\n", edits-n-1),
				}}})
				if !o.Success {
					t.Errorf("%s", o.text)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range clients {
		if got := x.get(t, fmt.Sprintf("%d.txt", i)); got != strings.Repeat(fmt.Sprintf("%d\n", i), edits) {
			t.Errorf("file %d: %q", i, got)
		}
	}
}

// All tool names, schemas and descriptions together stay below 1,500 tokens, in each of the exact vocabularies.
func TestToolsAreShort(t *testing.T) {
	x := newTree(t, nil)
	list, err := x.client(t, "2025-11-25").ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []args
	for _, tool := range list.Tools {
		all = append(all, args{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, vocabulary := range []string{prices.VocabularyO200k, prices.VocabularyCL100k} {
		c, err := exact.Counter(vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Count(string(text)); n >= 1500 {
			t.Errorf("%s: %d tokens", vocabulary, n)
		} else {
			t.Logf("%s: %d tokens in %d tools", vocabulary, n, len(all))
		}
	}
}
