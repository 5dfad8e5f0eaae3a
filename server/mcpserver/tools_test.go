package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

func TestTools(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			n := newNotes()
			n.notes["a"] = "text\x00 <b> &"
			s := newServer(t, Config{Caller: n.handler, Await: true, Version: "7", Aliases: map[string]string{"RN": "read_note"}})
			c, end := client(t, s, revision, nil)
			defer end()
			if got := c.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("revision %s", got)
			}

			list, err := c.ListTools(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]*mcp.Tool{}
			for _, x := range list.Tools {
				got[x.Name] = x
			}
			if len(got) != 5 || got[awaitName] == nil {
				t.Fatalf("tools: %v", got)
			}
			await := tool.Spec{
				Name: awaitName, Description: "Wait for a call that answered \"pending\"; gives its result.",
				Schema: json.RawMessage(`{"type":"object","properties":{"pending":{"type":"string"}},"required":["pending"],"additionalProperties":false}`),
			}
			for _, spec := range append(n.handler.Specs(), await) {
				x := got[spec.Name]
				schema, _ := json.Marshal(x.InputSchema)
				if x.Description == "" || x.Description != spec.Description || !sameJSON(schema, spec.Schema) {
					t.Errorf("%s: %q %s, want %q %s", spec.Name, x.Description, schema, spec.Description, spec.Schema)
				}
			}
			read, write := got["read_note"].Annotations, got["write_note"].Annotations
			if !read.ReadOnlyHint || *read.DestructiveHint || *read.OpenWorldHint {
				t.Errorf("hints of a read: %+v", read)
			}
			if write.ReadOnlyHint || !*write.DestructiveHint || *write.OpenWorldHint {
				t.Errorf("hints of a write: %+v", write)
			}
			if got["write_note"].OutputSchema != nil {
				t.Error("an output schema promises structured content")
			}

			r := call(t, c, "read_note", map[string]any{"path": "a"})
			var text struct{ Content string }
			if err := json.Unmarshal([]byte(textOf(t, r)), &text); err != nil || text.Content != "text\x00 <b> &" || r.IsError {
				t.Errorf("read: %v %+v", err, r)
			}
			if r.StructuredContent != nil {
				t.Error("the content is sent twice")
			}
			if r := call(t, c, "RN", map[string]any{"path": "a"}); r.IsError || n.calls()[1].Name != "read_note" {
				t.Errorf("by another name: %+v", r)
			}
			for _, method := range []func() error{
				func() error { _, err := c.ListPrompts(context.Background(), nil); return err },
				func() error { _, err := c.ListResources(context.Background(), nil); return err },
			} {
				var wire *jsonrpc.Error
				if err := method(); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeMethodNotFound {
					t.Errorf("what is not declared: %v", err)
				}
			}
			r = call(t, c, "read_note", map[string]any{"path": "b"})
			if !r.IsError || !strings.Contains(textOf(t, r), "file_not_found") {
				t.Errorf("a failure is %+v", r)
			}
			r = call(t, c, "break", nil)
			if text := textOf(t, r); !r.IsError || strings.Contains(text, "sda1") || !strings.Contains(text, n.calls()[3].ID) {
				t.Errorf("what broke is told as %s", text)
			}
			if _, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "nothing"}); err == nil {
				t.Error("an unknown tool was called")
			}
			for _, seen := range n.calls() {
				if seen.Session != s.config.Session || seen.Client != "tester 1" || seen.ID == "" {
					t.Errorf("call %+v", seen)
				}
			}
		})
	}
}

// Arguments reach the caller in the client's own encoding.
func TestVerbatim(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler})
	arguments := []string{
		`{"text":"é\u00e9\ud800","path":"a", "n": 1.0, "n":1e2,  "big":12345678901234567890}`,
		`{}`, `[1, 2]`, `"x"`, `7`,
	}
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x\u001b[31m","version":""}}}` + "\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i, a := range append(arguments, "null") {
		id, err := json.Marshal(i + 1)
		if err != nil {
			t.Fatal(err)
		}
		in.WriteString(`{"jsonrpc":"2.0","id":` + string(id) + `,"method":"tools/call","params":{"name":"read_note","arguments":` + a + `}}` + "\n")
	}
	in.WriteString(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"read_note"}}` + "\n")

	// The whole input is available at once, followed by its end. Every request is still answered.
	out, w := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), strings.NewReader(in.String()), w)
		w.Close()
	}()
	answered := map[string]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.Result == nil {
			t.Errorf("%v: %s", err, lines.Bytes())
		}
		answered[string(m.ID)] = true
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if len(answered) != len(arguments)+3 {
		t.Errorf("answered: %v", answered)
	}
	got := map[string]int{}
	for _, c := range n.calls() {
		got[string(c.Arguments)]++
		if c.Client != "x?[31m" {
			t.Errorf("client %q", c.Client)
		}
	}
	for _, a := range arguments {
		want := 1
		if a == `{}` {
			want = 3 // null and missing arguments also become {}
		}
		if got[a] != want {
			t.Errorf("%s came %d times, not %d: %v", a, got[a], want, got)
		}
	}
}

func TestNew(t *testing.T) {
	bad := map[string]Config{
		"no caller":   {},
		"short token": {Caller: newNotes().handler, HTTP: HTTP{Tokens: []string{"a token that is long", "short"}}},
		"no schema":   {Caller: specs{{Name: "x"}}},
		"no object":   {Caller: specs{{Name: "x", Schema: json.RawMessage(`{"type":"array"}`)}}},
		"name taken":  {Await: true, Caller: specs{{Name: awaitName, Schema: json.RawMessage(`{"type":"object"}`)}}},
	}
	for name, c := range bad {
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

type specs []tool.Spec

func (s specs) Specs() []tool.Spec { return s }

func (s specs) Call(context.Context, tool.Call) (tool.Result, error) { panic("not called") }
