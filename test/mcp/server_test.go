package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/tool"
)

// token is the token of the server. The conformance suite cannot send one, so a proxy of the test adds it.
const token = "a-token-for-the-tests"

// fixture is a tool with a name that the conformance suite calls.
type fixture struct {
	spec tool.Spec
	plan func(ctx context.Context, c tool.Call) (*tool.Plan, error)
}

func (f fixture) Spec() tool.Spec { return f.spec }

func (f fixture) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) { return f.plan(ctx, c) }

const anything = `{"type":"object"}`

func read(name, schema string, plan func(context.Context, tool.Call) (*tool.Plan, error)) tool.Tool {
	return fixture{tool.Spec{Name: name, Description: "For tests.", Schema: json.RawMessage(schema), ReadOnly: true}, plan}
}

// write returns a tool that a person must confirm.
func write(name string) tool.Tool {
	return fixture{
		tool.Spec{Name: name, Description: "For tests.", Schema: json.RawMessage(anything), Destructive: true},
		func(_ context.Context, c tool.Call) (*tool.Plan, error) {
			return &tool.Plan{
				Call: c, Path: "notes.txt", Before: "1", After: "2", Size: 2, Diff: tool.ParseDiff("-a\n+b\n"),
				Apply: func(context.Context) (tool.Result, error) {
					return tool.Result{Text: `{"success":true,"data":"state-ok"}`}, nil
				},
			}, nil
		},
	}
}

func says(text string, code tool.Code) func(context.Context, tool.Call) (*tool.Plan, error) {
	return func(context.Context, tool.Call) (*tool.Plan, error) {
		return &tool.Plan{Done: &tool.Result{Text: text, Code: code}}, nil
	}
}

// newServer returns stet's MCP server with the real approval handler, and tools with the names that the conformance suite knows.
func newServer() (*mcpserver.Server, *autoApprover, error) {
	set := &tool.Set{}
	there := &autoApprover{queue: &approval.Queue{}, agreed: make(chan struct{}, 1)}
	err := set.Add(
		read("test_simple_text", anything, says(`{"success":true,"content":"This is a simple text response for testing."}`, "")),
		read("test_error_handling", anything, says(`{"success":false,"error":"file_not_found: this is an error for testing"}`, tool.FileNotFound)),
		read("test_tool_with_progress", anything, slow),
		read("test_streaming_elicitation", anything, says(`{"success":true}`, "")),
		read("test_logging_tool", anything, says(`{"success":true}`, "")),
		read("json_schema_2020_12_tool", schema202012, says(`{"success":true}`, "")),
		read("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, echo),
		read("agree", anything, there.agree),
		write("write"),
		write("test_input_required_result_elicitation"),
		write("test_input_required_result_request_state"),
		write("test_input_required_result_tampered_state"),
		write("test_input_required_result_capabilities"),
	)
	if err != nil {
		return nil, nil, err
	}
	relay, err := policy.ParsePattern("*")
	if err != nil {
		return nil, nil, err
	}
	handler := &approval.Handler{
		Tools: set, Policy: &policy.Policy{Relay: []policy.Pattern{relay}}, Approver: mcpserver.Relay{Next: there.queue}, Rate: -1,
	}
	s, err := mcpserver.New(mcpserver.Config{
		Caller: handler, End: handler.End, Await: true, Version: "0", Progress: 300 * time.Millisecond,
		HTTP: mcpserver.HTTP{Tokens: []string{token}},
	})
	return s, there, err
}

func slow(ctx context.Context, _ tool.Call) (*tool.Plan, error) {
	select {
	case <-time.After(2500 * time.Millisecond):
	case <-ctx.Done():
	}
	return says(`{"success":true}`, "")(ctx, tool.Call{})
}

func echo(_ context.Context, c tool.Call) (*tool.Plan, error) {
	var a struct{ Text string }
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"success": true, "content": a.Text})
	return &tool.Plan{Done: &tool.Result{Text: string(text)}}, err
}

// schema202012 has members that a client loses if it rewrites schemas.
const schema202012 = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`

// serveStdio runs the server that TestMain starts.
func serveStdio() error {
	s, there, err := newServer()
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go there.approveAll(ctx)
	return s.Serve(ctx, os.Stdin, os.Stdout)
}

// autoApprover approves calls for a person, if the client cannot ask its user. It waits until the client calls the tool "agree", which
// says that the client has seen the pending call. Some clients do not know that tool, so desk waits for at most some seconds.
type autoApprover struct {
	queue  *approval.Queue
	agreed chan struct{}
}

func (d *autoApprover) agree(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	select {
	case d.agreed <- struct{}{}:
	default: // it was said before
	}
	return says(`{"success":true}`, "")(ctx, c)
}

func (d *autoApprover) approveAll(ctx context.Context) {
	sub := d.queue.Subscribe()
	defer sub.Close()
	for {
		event, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if q := event.Opened; q != nil {
			select {
			case <-d.agreed:
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
			_ = d.queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal}) // the question may have been withdrawn
		}
	}
}

// serveHTTP starts the server at a free port. If open is set, it also accepts requests without a token.
func serveHTTP(t *testing.T, open bool) string {
	t.Helper()
	s, there, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler()
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		h.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		there.approveAll(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		s.Close()
		l.Close()
	})
	return strings.Replace(l.URL, "127.0.0.1", "localhost", 1) + "/mcp"
}
