package acp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/llm/llmtest"
)

// An editor's session uses stet mcp, for another directory, as an MCP server. The agent reads there without a question. It writes
// if both the editor's user and the server's own rules allow it.
func TestServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "far.txt"), []byte("far away\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := model(t, func(c llmtest.Config) llmtest.Config {
		c.Script.Turns = []llmtest.Turn{
			{Do: []llmtest.Action{llmtest.Call("mcp__other__read_file", `{"path":"far.txt"}`)}},
			{Do: []llmtest.Action{llmtest.Call("mcp__other__write_file", `{"path":"new.txt","content":"new\n"}`)}},
			{Do: []llmtest.Action{llmtest.Call("mcp__other__write_file", `{"path":"not.txt","content":"not\n"}`)}},
			{Text: "That is all."},
		}
		return c
	})
	name, err := stet()
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{choices: []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindRejectOnce}}
	hangUp := p.start(e, "--model", "m", "--base-url", m.URL, "--api", "chat")
	s, err := e.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: p.dir, McpServers: []sdk.McpServer{{Stdio: &sdk.McpServerStdio{
		Name: "other", Command: name, Args: []string{"mcp", "--root", other, "--write-without-asking"}, Env: []sdk.EnvVariable{},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	e.say(s.SessionId, "look elsewhere")
	hangUp() // this also ends the server
	if b, err := os.ReadFile(filepath.Join(other, "new.txt")); err != nil || string(b) != "new\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(other, "not.txt")); err == nil {
		t.Error("what was rejected is written")
	}
	_, states := e.told()
	for _, of := range []string{"mcp__other__read_file far.txt", "mcp__other__write_file new.txt"} {
		if !slices.Contains(states[of], sdk.ToolCallStatusCompleted) {
			t.Errorf("%s: %v", of, states)
		}
	}
	if trail := p.command("audit"); !strings.Contains(trail, "mcp__other__write_file -: ok (approved, by person test editor through the client)") {
		t.Error(trail)
	}
	if undone := p.command("undo"); strings.Contains(undone, "mcp__") {
		t.Error(undone)
	}
}
