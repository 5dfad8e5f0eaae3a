package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// TestGuard installs the guard for real agents, lets each remove a directory and change a file with its own tools, and takes it back. A rule denies
// a command, and the model reads why. (GRD-1, GRD-3)
func TestGuard(t *testing.T) {
	need(t)
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		guardAgent(t, "claude", agent{
			name: "claude", wire: "messages",
			configure: func(_ *testing.T, _, base string) []string {
				return []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
			},
			command: func(_, prompt string, _ bool) []string {
				return []string{filepath.Join(claudeDir("2.1.332"), "claude"), "-p", prompt, "--allowedTools", "Bash,Write,Edit"}
			},
		})
	})
	for _, name := range []string{"codex", "opencode"} {
		i := slices.IndexFunc(agents, func(a agent) bool { return strings.HasPrefix(a.name, name) })
		if i < 0 {
			t.Errorf("there is no agent %s", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guardAgent(t, name, agents[i])
		})
	}
}

const deniedCommand = "git push origin main"

func guardAgent(t *testing.T, name string, a agent) {
	home, repo := places(t, a)
	model, err := llmtest.Start(llmtest.Config{Script: llmtest.Script{Root: repo, Turns: []llmtest.Turn{
		llmtest.Say("I look.", llmtest.Shell("git status --short")),
		llmtest.Say("I remove it.", llmtest.Shell("find garden -delete && echo gone > leftover")),
		llmtest.Say("I publish it.", llmtest.Shell(deniedCommand)),
		llmtest.Say("I write.", llmtest.Write("NOTES.md", "# Notes\n")),
		llmtest.Say("Done."),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	_ = free.Close()
	config := filepath.Join(home, ".config", "stet", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	rules := fmt.Sprintf("listen = %q\n\n[[rule]]\ncommands = [\"git push\"]\ndo = \"deny\"\n", listen)
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(environment(home), a.configure(t, home, model.URL)...)
	stet := func(args ...string) (int, string) {
		t.Helper()
		return run(t, repo, env, append([]string{os.Getenv(envStet)}, args...))
	}
	if exit, said := stet("guard", name, "--yes"); exit != 0 {
		t.Fatal(said)
	}
	startProcess(t, home, "--listen", listen)
	command := a.command(home, "Clean up.", false)
	if name == "codex" { // a person would trust the hooks in its dialog
		command = slices.Insert(command, slices.Index(command, "exec")+1, "--dangerously-bypass-hook-trust")
	}
	exit, said := run(t, repo, env, command)
	if exit != 0 {
		t.Errorf("the agent ended with %d: %s", exit, said)
	}
	denied := false
	for _, r := range model.Requests() {
		denied = denied || strings.Contains(string(r.Body), "policy denies this")
	}
	if !denied {
		t.Error("the model did not read why a command was denied")
	}
	if _, err := os.Stat(filepath.Join(repo, "garden")); err == nil {
		t.Error("the agent has not removed the directory")
	}
	_, trail := stet("audit", "--json", "--last", "0")
	t.Logf("%s", trail)
	for range 2 { // the file, then the directory
		if exit, said := stet("undo", "--last", "--yes"); exit != 0 {
			t.Errorf("undo: %s", said)
		}
	}
	if left := git(t, repo, "status", "--short"); left != "" {
		t.Errorf("after the undo the workspace is not as it was:\n%s\nthe agent said %s", left, said)
	}
	if exit, said := stet("guard", name, "--remove", "--yes"); exit != 0 {
		t.Error(said)
	}
}
