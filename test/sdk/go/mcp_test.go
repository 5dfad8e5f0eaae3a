package sdks

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/tool"
)

// envMCPRoot makes TestMCPServer an MCP server over stdio for that directory.
const envMCPRoot = "STET_SDK_MCP_ROOT"

const mcpToken = "a-token-for-the-tests"

// mcpServer returns a server with the file tools for dir. It asks the client for what a person must confirm.
func mcpServer(t *testing.T, dir string) *mcpserver.Server {
	t.Helper()
	root, err := workspace.Open(dir, workspace.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	set := &tool.Set{}
	if err := set.Add(tools.All()...); err != nil {
		t.Fatal(err)
	}
	all, err := policy.ParsePattern("*")
	if err != nil {
		t.Fatal(err)
	}
	handler := &approval.Handler{
		Tools: set, Policy: &policy.Policy{Relay: []policy.Pattern{all}}, Approver: mcpserver.Relay{Next: &approval.Queue{}},
	}
	s, err := mcpserver.New(mcpserver.Config{Caller: handler, Await: true, Version: "0", HTTP: mcpserver.HTTP{Tokens: []string{mcpToken}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestMCPServer is the server of TestMCPGo over stdio.
func TestMCPServer(t *testing.T) {
	dir := os.Getenv(envMCPRoot)
	if dir == "" {
		t.Skip("it is started by TestMCPGo")
	}
	if err := mcpServer(t, dir).Serve(t.Context(), os.Stdin, os.Stdout); err != nil {
		t.Error(err)
	}
}

type user struct{ asked []string }

func (u *user) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	u.asked = append(u.asked, r.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"approve": true},
	}}, nil
}

// The other Go SDK works, over both transports, in all revisions.
func TestMCPGo(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(revision+"/"+over, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				talk(t, over, revision, dir)
				if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(b) != "two\n" {
					t.Errorf("%q %v", b, err)
				}
			})
		}
	}
}

func talk(t *testing.T, over, revision, dir string) {
	t.Helper()
	var wire transport.Interface
	if over == "stdio" {
		wire = transport.NewStdio(os.Args[0], append(os.Environ(), envMCPRoot+"="+dir), "-test.run=^TestMCPServer$")
	} else {
		l := httptest.NewServer(mcpServer(t, dir).Handler())
		defer l.Close()
		var err error
		wire, err = transport.NewStreamableHTTP(l.URL+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + mcpToken}))
		if err != nil {
			t.Fatal(err)
		}
	}
	u := &user{}
	c := client.NewClient(wire, client.WithElicitationHandler(u), client.WithProtocolVersion(revision))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	init := mcp.InitializeRequest{}
	init.Params.ProtocolVersion = revision
	init.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
	hello, err := c.Initialize(t.Context(), init)
	if err != nil {
		t.Fatal(err)
	}
	if hello.ProtocolVersion != revision {
		t.Errorf("revision %s", hello.ProtocolVersion)
	}
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 10 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	call := func(name string, args map[string]any) map[string]any {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = name, args
		got, err := c.CallTool(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := got.Content[0].(mcp.TextContent)
		if !ok || len(got.Content) != 1 || got.StructuredContent != nil {
			t.Fatalf("%+v", got)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(text.Text), &m); err != nil {
			t.Fatal(err)
		}
		if m["success"] != !got.IsError {
			t.Errorf("%s: isError %v: %s", name, got.IsError, text.Text)
		}
		return m
	}
	if m := call("read_file", map[string]any{"path": "a.txt"}); m["content"] != "one\n" {
		t.Errorf("%v", m)
	}
	if m := call("read_file", map[string]any{"path": "b.txt"}); m["success"] != false {
		t.Errorf("%v", m)
	}
	if m := call("edit_file", map[string]any{"path": "a.txt", "edits": []any{map[string]any{"old_text": "one", "new_text": "two"}}}); m["success"] != true {
		t.Errorf("%v", m)
	}
	if len(u.asked) != 1 || !strings.Contains(u.asked[0], "+two") {
		t.Errorf("asked: %q", u.asked)
	}
}
