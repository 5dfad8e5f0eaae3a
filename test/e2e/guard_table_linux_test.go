package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

const lastCall = "I write by a server."

// did returns which of the calls in a directory have run: a write, an edit, a command, and a call of an MCP server.
func (g *guarded) did(dir string) (all []bool) {
	text, _ := os.ReadFile(filepath.Join(g.repo, dir, "old.md"))
	return []bool{g.has(dir + "w.md"), string(text) == "new\n", g.has("b.md"), g.has(dir + "m.md")}
}

// inTerminal runs the agent in a person's terminal until the model has read what its last call did.
func (g *guarded) inTerminal(prompt string, flags []string) {
	write(g.t, filepath.Join(g.home, ".claude.json"), fmt.Sprintf(
		`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-ant-dummy"]}, "projects": {%q: {"hasTrustDialogAccepted": true, "allowedTools": []}}}`, g.repo))
	command := slices.Insert(g.a.command(g.home, prompt, false), 1, flags...)
	n := len(command) - 2 // the prompt comes first, and without -p
	command = slices.Insert(command[:n], 1, prompt, "--permission-mode", "manual")
	term := startOnTerminal(g.t, g.repo, append(g.env, "TERM=xterm-256color"), command)
	waits(g.t, "the agent ends", func() bool { return g.told(lastCall) })
	term.end()
}

// asSubAgent is a model that lets a sub-agent of Claude Code make the calls, and the main agent wait for it.
func asSubAgent(repo, dir string, commands ...string) llmtest.Config {
	file := func(name string) string { return fmt.Sprintf(`{"file_path":%q`, filepath.Join(repo, dir, name)) }
	all := [][2]string{{"Read", file("old.md") + "}"}}
	for _, c := range commands {
		all = append(all, [2]string{"Bash", fmt.Sprintf(`{"command":%q}`, c)})
	}
	all = append(all, [2]string{"Write", file("w.md") + `,"content":"w\n"}`}, [2]string{"Edit", file("old.md") + `,"old_string":"old","new_string":"new"}`},
		[2]string{"mcp__files__write_file", fmt.Sprintf(`{"path":%q,"content":"m\n"}`, dir+"m.md")})
	return llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		calls, sub, main := 0, false, false
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				sub = sub || p.Kind == llm.Text && m.Role == llm.User && strings.Contains(p.Text, "task: sub")
				main = main || p.Kind == llm.Text && m.Role == llm.User && strings.Contains(p.Text, "task: main")
				if p.Kind == llm.ToolCall {
					calls++
				}
			}
		}
		say := func(parts ...llm.Part) (llm.Response, error) {
			return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
		}
		call := func(name, args string) (llm.Response, error) {
			return say(llm.Part{Kind: llm.ToolCall, Name: name, Args: args})
		}
		switch {
		case sub && !main:
			if calls < len(all) {
				return call(all[calls][0], all[calls][1])
			}
			_ = os.WriteFile(filepath.Join(repo, ".git/end"), nil, 0o600) // the main agent waits for it, with a limit
		case main && calls == 0:
			return call("Agent", `{"description":"all","prompt":"task: sub","subagent_type":"general-purpose"}`)
		case main && calls == 1:
			return call("Bash", `{"command":"sh .git/wait.sh"}`)
		}
		return say(llm.Part{Kind: llm.Text, Text: "Done."})
	}}
}

// TestGuardTable lets real agents write, edit, run a command and call an MCP server, while a rule denies it, after the service was killed in the middle of a
// call, and without the program of the hook. It prints the table of what happened, which docs/guard.md has. Without STET_SOAK it runs the row whose
// start is fast. (GRD-1, GRD-2)
func TestGuardTable(t *testing.T) {
	need(t)
	docs, err := os.ReadFile("../../docs/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	const allowed = `{"permissions":{"allow":["Read","Edit","Write","Agent","Bash(touch:*)","Bash(sh .git/stop.sh)","Bash(sh .git/wait.sh)","mcp__files__write_file"]}}`
	claude := guardedClaude("--settings", allowed)
	conditions := []string{"denied by a rule", "killed", "killed, --closed", "program gone"}
	rows := []struct {
		name  string
		a     agent
		how   string
		cells []string
	}{
		{"`claude -p`", claude, "", []string{"denied", "runs", "refused", "no program"}},
		{"Claude Code, auto mode", guardedClaude("--permission-mode", "auto", "--settings", allowed), "", []string{"denied", "runs", "refused", "no program"}},
		{"Claude Code in a terminal", claude, "terminal", []string{"denied", "runs", "refused", "no program"}},
		{"a sub-agent of Claude Code", claude, "sub-agent", []string{"denied", "runs", "refused", "no program"}},
		{"`codex exec`", codex, "", []string{"denied", "runs", "cannot", "runs"}},
		{"`opencode run`", opencode("messages", "anthropic", bound), "", []string{"denied", "runs", "refused", "no program"}},
	}
	var mu sync.Mutex
	table := map[string][]string{}
	t.Run("rows", func(t *testing.T) {
		for _, row := range rows {
			table[row.name] = slices.Clone(row.cells)
			for i, condition := range conditions {
				if want := row.cells[i]; want == "no program" || want == "cannot" || os.Getenv("STET_SOAK") == "" && i != 3 {
					continue
				}
				t.Run(row.name+" "+condition, func(t *testing.T) {
					t.Parallel()
					cell := guardCell(t, row.a, row.how, condition)
					mu.Lock()
					defer mu.Unlock()
					table[row.name][i] = cell
				})
			}
		}
	})
	for _, row := range rows {
		if !slices.Equal(table[row.name], row.cells) {
			t.Errorf("%s: %q, want %q", row.name, table[row.name], row.cells)
		}
		line := "| " + row.name + " | " + strings.Join(table[row.name], " | ") + " |"
		t.Log(line)
		if !strings.Contains(string(docs), line) {
			t.Errorf("docs/guard.md does not have the row\n%s", line)
		}
	}
}

// guardCell runs one session, and returns what happened to its calls, which must be the same for all of them.
func guardCell(t *testing.T, a agent, how, condition string) string {
	dir, commands := "plain/", []string{"touch b.md"}
	switch {
	case condition == "denied by a rule":
		dir, commands = "locked/", []string{"git push origin main || touch b.md"}
	case strings.HasPrefix(condition, "killed"):
		commands = []string{"sh .git/stop.sh", "touch b.md"}
	}
	model := func(repo string) llmtest.Config {
		if how == "sub-agent" {
			return asSubAgent(repo, dir, commands...)
		}
		turns := []llmtest.Turn{llmtest.Say("I read.", llmtest.Read(dir+"old.md"))}
		for _, c := range commands {
			turns = append(turns, llmtest.Say("I run it.", llmtest.Shell(c)))
		}
		turns = append(turns, llmtest.Say("I write.", llmtest.Write(dir+"w.md", "w\n")), llmtest.Say("I edit.", llmtest.Edit(dir+"old.md", "old", "new")),
			llmtest.Say(lastCall, llmtest.Call(a.mcpTool("files", "write_file"), fmt.Sprintf(`{"path":%q,"content":"m\n"}`, dir+"m.md"))), llmtest.Say("Done."))
		return llmtest.Config{Script: llmtest.Script{Root: repo, Turns: turns}}
	}
	var flags []string
	if strings.HasSuffix(condition, "--closed") {
		flags = append(flags, "--closed")
	}
	g := newGuarded(t, a, model, flags...)
	flags = g.serves("files", "elsewhere")
	write(t, filepath.Join(g.repo, dir, "old.md"), "old\n")
	write(t, filepath.Join(g.repo, ".git/stop.sh"), "kill -9 $(cat .git/guard.pid); touch .git/stopped\n")
	write(t, filepath.Join(g.repo, ".git/wait.sh"), "n=0; while [ ! -e .git/end ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done\n")
	if condition == "program gone" {
		file := filepath.Join(g.home, ".codex/hooks.json")
		write(t, file, strings.ReplaceAll(read(t, filepath.Dir(file), "hooks.json"), os.Getenv(envStet), filepath.Join(g.home, "gone", "stet")))
	}
	switch how {
	case "terminal":
		g.inTerminal("Clean up.", flags)
	case "sub-agent":
		g.run("task: main", flags...)
	default:
		g.run("Clean up.", flags...)
	}
	if strings.HasPrefix(condition, "killed") {
		if g.guard.end(syscall.SIGKILL); !g.has(".git/stopped") {
			t.Error("the call in which the service was killed has not gone to its end")
		}
	}
	did, words := g.did(dir), ""
	switch {
	case g.times("policy denies this") >= len(did):
		words = "denied"
	case g.times("onFailure is") >= len(did), g.times("stet guard does not answer") >= len(did):
		words = "refused"
	}
	switch {
	case !slices.Contains(did, false) && words == "":
		return "runs"
	case !slices.Contains(did, true) && words != "":
		return words
	}
	for _, r := range g.model.Requests()[max(0, len(g.model.Requests())-1):] {
		t.Logf("%s", r.Body[max(0, len(r.Body)-4000):])
	}
	return fmt.Sprintf("these have run: %v; the model has read: %q", did, words)
}
