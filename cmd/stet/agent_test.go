package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

// The scripted model in a real workspace: it makes a file, changes it, and continues after a restart.
func TestScriptedAgent(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	ask := func(resume, text string) (string, agent.Outcome) {
		p := &program{in: strings.NewReader(""), out: os.Stderr, err: os.Stderr, env: []string{"HOME=" + home}, dir: dir}
		var f agentFlags
		cmd := &cobra.Command{Use: "run"}
		addAgentFlags(cmd.Flags(), &f)
		if err := cmd.Flags().Parse([]string{"--model", "scripted", "--write-without-asking"}); err != nil {
			t.Fatal(err)
		}
		h, err := (&command{program: p, cmd: cmd}).openAgent(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}()
		var c *agent.Conversation
		if resume == "" {
			c, err = h.Agent.New(t.Context())
		} else {
			c, err = h.Resume(t.Context(), resume)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Run(t.Context(), said(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.ID(), out
	}
	id, out := ask("", "show me")
	if out.Turns != 4 || !strings.Contains(out.Text, "version 1") {
		t.Fatalf("%+v", out)
	}
	if again, out := ask("latest", "and again"); again != id || !strings.Contains(out.Text, "version 2") {
		t.Fatalf("session %s after %s: %+v", again, id, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, demo.NotesFile))
	if want := "A file of the scripted model.\nThis line is version 2.\n"; err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
}

// The agent has the tools of the configured MCP servers. It also works if one of them does not start.
func TestMCPServers(t *testing.T) {
	dir, home, other := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "o.txt"), "from elsewhere\n")
	write(t, filepath.Join(home, ".config/stet/config.toml"), fmt.Sprintf("[[mcp]]\nname = \"other\"\ncommand = [\"stet\", \"mcp\", \"--root\", %q]\nenv = {XDG_STATE_HOME = %q}\n"+
		"[[mcp]]\nname = \"gone\"\ncommand = [\"no-such-program\"]\n", other, filepath.Join(home, "of-the-server")))
	p := &program{in: strings.NewReader(""), out: os.Stderr, err: os.Stderr, env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, dir: dir}
	f := agentFlags{servers: true}
	cmd := &cobra.Command{Use: "run"}
	addAgentFlags(cmd.Flags(), &f)
	if err := cmd.Flags().Parse([]string{"--model", "scripted"}); err != nil {
		t.Fatal(err)
	}
	h, err := (&command{program: p, cmd: cmd}).openAgent(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := h.Agent.Tools.Call(t.Context(), tool.Call{ID: "1", Session: "s", Name: "mcp__other__read_file", Arguments: json.RawMessage(`{"path": "o.txt"}`)})
	if err != nil || got.Code != "" || !strings.Contains(got.Text, "from elsewhere") {
		t.Errorf("%+v, %v", got, err)
	}
	if len(h.Missing) != 1 || !strings.HasPrefix(h.Missing[0], "MCP server gone: it did not start: ") {
		t.Errorf("%q", h.Missing)
	}
	if said := toolsInWords(h); !strings.HasPrefix(said, "has tools for files, and 11 of MCP servers\nMCP server gone: ") {
		t.Error(said)
	}
}

// If nobody could approve a write, stet run names --allow where that would have helped. Otherwise it names the reason.
func TestRunNamesWhatHelps(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		flags []string
		want  string
	}{
		"nothing is allowed": {"new.txt", nil, "name by --allow what may be written, or run it on a terminal, for new.txt"},
		"never read":         {"a.txt", []string{"--allow", "*.txt"}, "--allow does not decide on a.txt (the agent never read this file: it does not know what it overwrites): run it on a terminal"},
		"a control file":     {".envrc", []string{"--allow", "**"}, "--allow does not decide on .envrc (this file makes something run, or says what may): run it on a terminal"},
		"allowed":            {"new.txt", []string{"--allow", "*.txt"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			write(t, filepath.Join(dir, "a.txt"), "one\n")
			m := strictmodel.New(llmtest.Script{Turns: []llmtest.Turn{llmtest.Say("I write.", llmtest.Write(c.path, "two\n")), llmtest.Say("Done.")}})
			defer m.Close()
			args := append([]string{"run", "--model", "gpt-5", "--api", "chat", "--base-url", m.URL + "/v1", "--root", dir}, c.flags...)
			var said strings.Builder
			p := &program{in: strings.NewReader(""), out: io.Discard, err: &said, env: []string{"HOME=" + home, "OPENAI_API_KEY=x"}, dir: dir}
			if code := p.run(t.Context(), append(args, "write it")); (code == 0) != (c.want == "") || !strings.Contains(said.String(), c.want) {
				t.Errorf("code %d, want %q: %s", code, c.want, said.String())
			}
		})
	}
}

// A window that is too small is a usage error.
func TestLeastWindow(t *testing.T) {
	for window, ok := range map[string]bool{"-1": false, "1": false, "4095": false, "4096": true, "0": true} {
		p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: []string{"HOME=" + t.TempDir()}, dir: t.TempDir()}
		var f agentFlags
		cmd := &cobra.Command{Use: "run"}
		addAgentFlags(cmd.Flags(), &f)
		if err := cmd.Flags().Parse([]string{"--model", "scripted", "--window", window}); err != nil {
			t.Fatal(err)
		}
		h, err := (&command{program: p, cmd: cmd}).openAgent(t.Context(), f)
		if err == nil {
			err = h.Close()
		}
		var end *exitError
		if wrong := errors.As(err, &end) && end.code == exitUsage; wrong == ok || ok && err != nil {
			t.Errorf("--window %s: %v", window, err)
		}
	}
}
