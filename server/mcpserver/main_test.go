package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	v2025a = "2025-06-18"
	v2025b = "2025-11-25"
	v2026  = "2026-07-28"
)

var revisions = []string{v2025a, v2025b, v2026}

// notes is a caller whose tools read and write notes in memory. Reading is allowed. Writing needs a decision by a person. The
// handler and the queue are the real ones.
type notes struct {
	handler *approval.Handler
	queue   *approval.Queue

	mu    sync.Mutex
	notes map[string]string
	seen  []tool.Call
}

// newNotes returns notes. For tools whose names match one of relay, an answer from the client is enough.
func newNotes(relay ...string) *notes {
	n := &notes{notes: map[string]string{}, queue: &approval.Queue{}}
	p := &policy.Policy{}
	for _, text := range relay {
		pattern, err := policy.ParsePattern(text)
		if err != nil {
			panic(err)
		}
		p.Relay = append(p.Relay, pattern)
	}
	set := &tool.Set{}
	const path = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	err := set.Add(
		noteTool{n, tool.Spec{Name: "break", Description: "Break.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}, n.broken},
		noteTool{n, tool.Spec{Name: "hang", Description: "Hang.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}, n.hang},
		noteTool{n, tool.Spec{Name: "read_note", Description: "Read a note.", Schema: json.RawMessage(path), ReadOnly: true}, n.read},
		noteTool{n, tool.Spec{Name: "write_note", Description: "Write a note.", Schema: json.RawMessage(path), Destructive: true}, n.write},
	)
	if err != nil {
		panic(err)
	}
	n.handler = &approval.Handler{Tools: set, Policy: p, Approver: Relay{n.queue}, Rate: -1, Timeout: time.Hour}
	return n
}

type noteTool struct {
	n    *notes
	spec tool.Spec
	plan func(ctx context.Context, c tool.Call, path, text string) (*tool.Plan, error)
}

func (t noteTool) Spec() tool.Spec { return t.spec }

func (t noteTool) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	t.n.mu.Lock()
	t.n.seen = append(t.n.seen, c)
	t.n.mu.Unlock()
	var a struct{ Path, Text string }
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return done(tool.InvalidArgument, map[string]any{"success": false, "error": "invalid_argument: no object"})
	}
	return t.plan(ctx, c, a.Path, a.Text)
}

func done(code tool.Code, result map[string]any) (*tool.Plan, error) {
	text, err := json.Marshal(result)
	return &tool.Plan{Done: &tool.Result{Text: string(text), Code: code}}, err
}

func (n *notes) broken(context.Context, tool.Call, string, string) (*tool.Plan, error) {
	return nil, errors.New("disk /dev/sda1 is on fire")
}

func (n *notes) hang(ctx context.Context, _ tool.Call, _, _ string) (*tool.Plan, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (n *notes) read(_ context.Context, _ tool.Call, path, _ string) (*tool.Plan, error) {
	text, ok := n.get(path)
	if !ok {
		return done(tool.FileNotFound, map[string]any{"success": false, "error": "file_not_found: no such note"})
	}
	return done("", map[string]any{"success": true, "content": text})
}

func (n *notes) write(_ context.Context, c tool.Call, path, text string) (*tool.Plan, error) {
	before, _ := n.get(path)
	return &tool.Plan{
		Call: c, Path: path, Before: before, After: text, Size: int64(len(text)),
		Diff: tool.ParseDiff("-" + before[:min(len(before), 100)] + "\n+" + text[:min(len(text), 100)] + "\n"),
		Apply: func(context.Context) (tool.Result, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.notes[path] = text
			return tool.Result{Text: `{"success":true}`}, nil
		},
	}, nil
}

func (n *notes) get(path string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, ok := n.notes[path]
	return text, ok
}

func (n *notes) calls() []tool.Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]tool.Call(nil), n.seen...)
}

// decide is the person elsewhere. It waits for the open question and answers it.
func (n *notes) decide(t *testing.T, v approval.Verdict, words string) {
	t.Helper()
	for {
		if open := n.queue.Open(); len(open) > 0 {
			if err := n.queue.Answer(open[0].ID, approval.Answer{Verdict: v, Seal: open[0].Seal, Words: words, By: "test"}); err != nil {
				t.Error(err)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func newServer(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// client connects a client that uses the given revision over pipes, like stdio. The returned function ends the client, and waits
// until the server has ended its session.
func client(t *testing.T, s *Server, revision string, o *mcp.ClientOptions) (*mcp.ClientSession, func()) {
	t.Helper()
	in, w := io.Pipe()
	r, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), in, out)
		out.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
	session, err := c.Connect(context.Background(), &mcp.IOTransport{Reader: r, Writer: w, MaxLineLength: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	return session, func() {
		session.Close()
		<-served
		in.Close()
	}
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is a %T", r.Content[0])
	}
	return c.Text
}

func call(t *testing.T, c *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
