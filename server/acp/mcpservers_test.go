package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/llm"
)

// envServer is an environment variable that makes this test binary an MCP server, which works in its start directory.
const envServer = "STET_TEST_MCP"

type noteArgs struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// serveMCP is a server with tools that read, write, and end the server.
func serveMCP() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	add := func(name string, reads bool, do func(noteArgs) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(_ context.Context, _ *mcp.CallToolRequest, a noteArgs) (*mcp.CallToolResult, any, error) {
				text, err := do(a)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
			})
	}
	add("look", true, func(a noteArgs) (string, error) {
		b, err := os.ReadFile(a.Path)
		return string(b) + os.Getenv("STET_TEST_SIGN"), err
	})
	add("note", false, func(a noteArgs) (string, error) { return "noted", os.WriteFile(a.Path, []byte(a.Text), 0o600) })
	add("drop", false, func(a noteArgs) (string, error) { return "dropped", os.Remove(a.Path) })
	add("die", true, func(noteArgs) (string, error) { os.Exit(7); return "", nil })
	err := s.Run(context.Background(), &mcp.StdioTransport{})
	return os.WriteFile("ended", fmt.Append(nil, err), 0o600)
}

func notes(t *testing.T) sdk.McpServer {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: "notes", Command: name, Args: []string{}, Env: []sdk.EnvVariable{
		{Name: envServer, Value: "1"}, {Name: "STET_TEST_SIGN", Value: " (signed)"}, {Name: "GORACE", Value: "atexit_sleep_ms=0"},
	}}}
}

func absent() sdk.McpServer {
	return sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: "absent", Command: "/nowhere/at-all", Args: []string{}, Env: []sdk.EnvVariable{}}}
}

// with opens a session that names MCP servers.
func (r *rig) with(e *editor, servers ...sdk.McpServer) sdk.SessionId {
	r.t.Helper()
	s, err := e.NewSession(r.t.Context(), sdk.NewSessionRequest{Cwd: r.dir, McpServers: servers})
	if err != nil {
		r.t.Fatal(err)
	}
	return s.SessionId
}

func look(id string) llm.Part { return using(id, "mcp__notes__look", `{"path":"a.txt","text":""}`) }

func note(id, text string) llm.Part {
	return using(id, "mcp__notes__note", `{"path":"n.txt","text":"`+text+`"}`)
}

// The tools of an editor's MCP server: a person is not asked about read-only calls. They are asked about other calls, with the
// arguments. The result of the call is shown.
func TestServers(t *testing.T) {
	var offered []string
	play := script(
		[]llm.Part{look("c1")}, []llm.Part{note("c2", "hello")}, []llm.Part{words("Noted.")},
	)
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		if offered == nil {
			for _, x := range req.Tools {
				if strings.HasPrefix(x.Name, "mcp__") {
					offered = append(offered, x.Name)
				}
			}
		}
		return play(req)
	}, "a.txt", "one\n")
	e := &editor{decide: choose(sdk.PermissionOptionKindAllowOnce)}
	r.connect(e)
	id := r.with(e, absent(), notes(t))
	r.say(e, id, "make a note")
	if want := []string{"mcp__notes__die", "mcp__notes__drop", "mcp__notes__look", "mcp__notes__note"}; !slices.Equal(offered, want) {
		t.Error(offered)
	}
	if got := r.read("n.txt"); got != "hello" {
		t.Errorf("%q", got)
	}
	if len(e.asked) != 1 {
		t.Fatalf("asked %d times", len(e.asked))
	}
	q := e.asked[0]
	shown := q.ToolCall.Content[0].Content.Content.Text.Text
	if *q.ToolCall.Title != "mcp__notes__note" || q.ToolCall.Locations != nil || !strings.Contains(shown, `"text": "hello"`) {
		t.Errorf("%+v, %s", q.ToolCall, shown)
	}
	if warned := q.ToolCall.Content[1].Content.Content.Text.Text; !strings.Contains(warned, "cannot be undone") {
		t.Error(warned)
	}
	_, thoughts, _ := texts(e.seenSoFar())
	if !strings.Contains(thoughts, "MCP server absent: it did not start: ") || !strings.Contains(thoughts, "The agent works without it.") {
		t.Error(thoughts)
	}
	all := calls(e.seenSoFar())
	for call, want := range map[sdk.ToolCallId]string{"c1": "one\n (signed)", "c2": "noted"} {
		c := all[call]
		if last(c.Statuses) != sdk.ToolCallStatusCompleted || len(c.Content) != 1 || !strings.Contains(c.Content[0].Content.Content.Text.Text, want) {
			t.Errorf("%s: %+v", call, c)
		}
	}
}

// A grant for one tool does not allow another tool. A grant for edits does not allow other calls.
func TestServersGrants(t *testing.T) {
	drop := using("c3", "mcp__notes__drop", `{"path":"n.txt","text":""}`)
	write := using("c4", "write_file", `{"path":"w.txt","content":"1\n"}`)
	r := newRig(t, script(
		[]llm.Part{note("c1", "1")}, []llm.Part{note("c2", "2")}, []llm.Part{drop}, []llm.Part{write}, []llm.Part{words("Done.")},
		[]llm.Part{note("c5", "3")}, []llm.Part{words("Done.")}, []llm.Part{note("c6", "4")},
	))
	e := &editor{decide: choose(sdk.PermissionOptionKindAllowAlways)}
	r.connect(e)
	id := r.with(e, notes(t))
	r.say(e, id, "go on")
	asked := func() (out []string) {
		for _, q := range e.asked {
			out = append(out, *q.ToolCall.Title)
		}
		return out
	}
	if want := []string{"mcp__notes__note", "mcp__notes__drop", "Write w.txt"}; !slices.Equal(asked(), want) {
		t.Error(asked())
	}

	other := r.with(e, notes(t)) // another session, without grants
	for _, mode := range []sdk.SessionModeId{"accept-edits", "read-only"} {
		if _, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: other, ModeId: mode}); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		e.asked = nil
		e.mu.Unlock()
		before := len(e.seenSoFar())
		r.say(e, other, "go on")
		late := calls(e.seenSoFar()[before:])
		switch mode {
		case "accept-edits":
			if want := []string{"mcp__notes__note", "mcp__notes__drop"}; !slices.Equal(asked(), want) {
				t.Error(mode, asked())
			}
		default:
			if c := late["c5"]; len(asked()) > 0 || c == nil || last(c.Statuses) != sdk.ToolCallStatusFailed {
				t.Error(mode, asked(), late)
			}
		}
	}
}

// A rejected call is not executed. A server that ends is reported, and the other servers keep working. Closing a session ends its
// servers.
func TestServersEnd(t *testing.T) {
	r := newRig(t, script(
		[]llm.Part{note("c1", "no")}, []llm.Part{using("c2", "mcp__notes__die", `{"path":"","text":""}`)},
		[]llm.Part{look("c3"), using("c4", "read_file", `{"path":"a.txt"}`)},
	), "a.txt", "one\n")
	e := &editor{decide: choose(sdk.PermissionOptionKindRejectOnce)}
	r.connect(e)
	quiet := r.with(e, notes(t))
	r.say(e, r.with(e, notes(t)), "go on")
	if _, err := os.Stat(filepath.Join(r.dir, "n.txt")); err == nil {
		t.Error("written all the same")
	}
	all := calls(e.seenSoFar())
	for id, want := range map[sdk.ToolCallId]string{
		"c1": "The person who was asked rejected this.", "c2": "the MCP server notes has ended", "c3": "the MCP server notes has ended", "c4": "one",
	} {
		c := all[id]
		if text := c.Content[len(c.Content)-1].Content.Content.Text.Text; !strings.Contains(text, want) {
			t.Errorf("%s: %s", id, text)
		}
	}
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: quiet}); err != nil {
		t.Fatal(err)
	}
	if got := r.read("ended"); !strings.Contains(got, "nil") { // the server had time to write this at its end
		t.Error(got)
	}
}

// A loaded session has the servers that session/load names.
func TestServersLoad(t *testing.T) {
	r := newRig(t, script([]llm.Part{words("Yes?")}, []llm.Part{look("c1")}, []llm.Part{words("Done.")}), "a.txt", "one\n")
	e := &editor{}
	r.connect(e)
	id := r.begin(e)
	r.say(e, id, "hello")
	load := sdk.LoadSessionRequest{SessionId: id, Cwd: r.dir, McpServers: []sdk.McpServer{notes(t)}}
	for range 2 { // the servers of the first load end
		if _, err := e.LoadSession(t.Context(), load); err != nil {
			t.Fatal(err)
		}
	}
	r.say(e, id, "look")
	if c := calls(e.seenSoFar())["c1"]; c == nil || last(c.Statuses) != sdk.ToolCallStatusCompleted {
		t.Errorf("%+v", c)
	}
	if r.read("ended") == "" {
		t.Error("the first server has not ended")
	}
}
