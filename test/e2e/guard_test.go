package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/freeport"
)

// guarded is a real agent with the guard's hooks, a scripted model and a workspace.
type guarded struct {
	t          *testing.T
	a          agent
	home, repo string
	listen     string // of the guard
	env        []string
	model      *llmtest.Server
	guard      *process
}

const deniedCommand = "git push origin main"

// newGuarded installs the guard for an agent, and starts it.
func newGuarded(t *testing.T, a agent, model func(repo string) llmtest.Config, flags ...string) *guarded {
	g := &guarded{t: t, a: a}
	g.home, g.repo = places(t, a)
	var err error
	if g.model, err = llmtest.Start(model(g.repo)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.model.Close() })
	g.listen = freeport.Addresses(t, 1)[0]
	write(t, filepath.Join(g.home, ".config/stet/config.toml"), fmt.Sprintf("listen = %q\n\n[[rule]]\ncommands = [\"git push\"]\ndo = \"deny\"\n\n[[rule]]\npaths = [\"locked/**\"]\ndo = \"deny\"\n\n[[rule]]\ntools = [\"write_file\"]\ndo = \"allow\"\n", g.listen))
	g.env = append(environment(g.home), a.configure(t, g.home, g.model.URL)...)
	if a.name == "opencode" { // otherwise it asks a package registry for its plugin types, and without a network waits a minute or two
		write(t, filepath.Join(g.home, ".config/opencode/package-lock.json"), `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}`)
		if err := os.MkdirAll(filepath.Join(g.home, ".config/opencode/node_modules"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if exit, said := g.stet(append([]string{"guard", a.name, "--yes"}, flags...)...); exit != 0 {
		t.Fatal(said)
	}
	g.start()
	return g
}

// noRules takes the rules away: where a rule denies paths, a command whose paths cannot be known is asked about.
func (g *guarded) noRules() {
	write(g.t, filepath.Join(g.home, ".config/stet/config.toml"), fmt.Sprintf("listen = %q\n", g.listen))
}

// start starts the guard. A command of the agent can kill it by a script: some agents run no "kill" without a number.
func (g *guarded) start() {
	g.guard = startProcess(g.t, g.home, "--listen", g.listen)
	write(g.t, filepath.Join(g.repo, ".git", "end"), fmt.Sprintf("kill -9 %d\n", g.guard.cmd.Process.Pid))
	write(g.t, filepath.Join(g.repo, ".git", "guard.pid"), fmt.Sprint(g.guard.cmd.Process.Pid))
}

func (g *guarded) stet(args ...string) (int, string) {
	g.t.Helper()
	return run(g.t, g.repo, g.env, append([]string{os.Getenv(envStet)}, args...))
}

// run runs the agent with a prompt, and more arguments in front of it.
func (g *guarded) run(prompt string, flags ...string) {
	g.t.Helper()
	if exit, said := g.try(prompt, flags...); exit != 0 {
		g.t.Errorf("the agent ended with %d: %s", exit, said)
	}
}

// try is run, and returns how the agent ended and what it said.
func (g *guarded) try(prompt string, flags ...string) (exit int, said string) {
	g.t.Helper()
	command := g.a.command(g.home, prompt, false)
	switch g.a.name {
	case "codex":
		g.trust()
	case "claude":
		command = slices.Insert(command, 1, flags...)
	}
	return run(g.t, g.repo, g.env, command)
}

// trust says yes to Codex's question about hooks, as a person does in its dialog. Before that, doctor says that Codex skips them.
func (g *guarded) trust() {
	g.t.Helper()
	skips := func(want bool) {
		if _, said := g.stet("doctor"); strings.Contains(said, "codex skips these hooks") != want {
			g.t.Errorf("does Codex skip the hooks: want %t, %s", want, said)
		}
	}
	skips(true)
	file, config := filepath.Join(g.home, ".codex/hooks.json"), filepath.Join(g.home, ".codex/config.toml")
	var all struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Timeout int
			}
		}
	}
	if err := json.Unmarshal([]byte(read(g.t, filepath.Dir(file), "hooks.json")), &all); err != nil {
		g.t.Fatal(err)
	}
	text := read(g.t, filepath.Dir(config), "config.toml")
	for event, entries := range all.Hooks {
		name := map[string]string{"SessionStart": "session_start", "UserPromptSubmit": "user_prompt_submit", "PermissionRequest": "permission_request", "PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use", "Stop": "stop"}[event]
		h := entries[0].Hooks[0]
		sum := sha256.Sum256(fmt.Appendf(nil, `{"event_name":%q,"hooks":[{"async":false,"command":%q,"timeout":%d,"type":"command"}]}`, name, h.Command, h.Timeout))
		text += fmt.Sprintf("[hooks.state.\"%s:%s:0:0\"]\ntrusted_hash = \"sha256:%x\"\n", file, name, sum)
	}
	write(g.t, config, text)
	skips(false)
}

func (g *guarded) told(text string) bool { return g.times(text) > 0 }

// times returns how often the model has read a text in one request.
func (g *guarded) times(text string) (n int) {
	for _, r := range g.model.Requests() {
		n = max(n, strings.Count(string(r.Body), text))
	}
	return n
}

// trail returns the entries of the agent's calls, as "kind tool", and those that changed something.
func (g *guarded) trail() (all, changed []record.Entry) {
	g.t.Helper()
	_, text := g.stet("audit", "--json", "--last", "0")
	for line := range strings.Lines(text) {
		var e record.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			g.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
		if e.Kind == record.Changed && e.Client == g.a.name {
			changed = append(changed, e)
		}
	}
	return all, changed
}

// undoAll takes back n calls, one after the other, and checks that the workspace is as in the beginning.
func (g *guarded) undoAll(n int) {
	g.t.Helper()
	for range n {
		if exit, said := g.stet("undo", "--last", "--yes"); exit != 0 {
			g.t.Errorf("undo: %s", said)
		}
	}
	g.clean()
}

func (g *guarded) clean() {
	g.t.Helper()
	if left := git(g.t, g.repo, "status", "--short"); left != "" {
		g.t.Errorf("the workspace is not as it was:\n%s", left)
	}
}

func (g *guarded) has(name string) bool {
	_, err := os.Lstat(filepath.Join(g.repo, name))
	return err == nil
}

// guardedClaude is Claude Code without rules of its own for what the guard's tests do.
func guardedClaude(flags ...string) agent {
	a := claudeCode("2.1.332")
	command := a.command
	a.command = func(home, prompt string, again bool) []string {
		c := command(home, prompt, again)
		if len(flags) > 0 {
			i := slices.Index(c, "--allowedTools")
			c = slices.Replace(c, i, i+2, flags...)
		}
		return c
	}
	return a
}

func scripted(turns ...llmtest.Turn) func(string) llmtest.Config {
	return func(repo string) llmtest.Config {
		return llmtest.Config{Script: llmtest.Script{Root: repo, Turns: turns}}
	}
}

const removes = "find garden -delete && echo gone > leftover"

// TestGuard installs the guard for real agents, lets each remove a directory and change a file with its own tools, and takes it back. A rule denies
// a command, and the model reads why. (GRD-1, GRD-3)
func TestGuard(t *testing.T) {
	need(t)
	rows := map[string]agent{
		"claude -p": guardedClaude(), "claude auto mode": guardedClaude("--permission-mode", "auto"), "claude bypass": guardedClaude("--dangerously-skip-permissions"), "codex exec": codex,
		"opencode run": opencode("messages", "anthropic", bound),
		"qwen":         qwen("chat", "openai"), "gemini": gemini, "pi": pi("messages", "anthropic", bound), "copilot": copilot("1.0.102"),
		"qwen 0.24.4": newer(qwen("chat", "openai"), "0.24.4"), "pi 1.5.2": newer(pi("messages", "anthropic", bound), "1.5.2"),
	}
	for name, a := range rows {
		t.Run(name, func(t *testing.T) {
			if name == "qwen" || name == "gemini" {
				takesLong(t)
			}
			a.skip(t)
			t.Parallel()
			g := newGuarded(t, a, scripted(
				llmtest.Say("I look.", llmtest.Shell("git status --short")), llmtest.Say("I remove it.", llmtest.Shell(removes)),
				llmtest.Say("I publish it.", llmtest.Shell(deniedCommand)), llmtest.Say("I write where I must not.", llmtest.Write("locked/x.md", "x\n")), llmtest.Say("I write.", llmtest.Write("NOTES.md", "# Notes\n")),
				llmtest.Say("I read.", llmtest.Read("README.md")), llmtest.Say("I edit.", llmtest.Edit("README.md", "# Garden", "# Edited")), llmtest.Say("Done."),
			))
			g.env = append(g.env, "IS_SANDBOX=1") // Claude Code wants to know before it skips permissions as root
			// In auto mode the provider checks commands, which the scripted model does not: they are refused, and edits pass.
			auto := name == "claude auto mode"
			if exit, said := g.try("Clean up."); exit != 0 && !auto {
				t.Errorf("the agent ended with %d: %s", exit, said)
			}
			if n := g.times("policy denies this"); n < 2 {
				t.Errorf("the model read %d times why a command or a patch was denied", n)
			}
			if g.has("garden") != auto || !g.has("NOTES.md") || !strings.Contains(read(t, g.repo, "README.md"), "# Edited") || g.has("locked") {
				t.Error("the agent has not done its work, or what it must not do")
			}
			want := map[bool]int{true: 2, false: 3}[auto]
			all, changed := g.trail()
			if len(changed) != want || len(all) != 7 {
				for _, e := range all {
					t.Errorf("%s %s %q, %s by %s: %s %q", e.Kind, e.Tool, e.Path, e.Decision, e.By, e.Outcome, e.Flags)
				}
			}
			g.undoAll(want)
			if exit, said := g.stet("guard", a.name, "--remove", "--yes"); exit != 0 {
				t.Error(said)
			}
		})
	}
}

// Two sub-agents of Claude Code and the main one work at the same time. Each has its own entries, which name the others, and an undo of all of them gives
// everything back. (GRD-3, GRD-4)
func TestGuardSubAgents(t *testing.T) {
	need(t)
	say := func(parts ...llm.Part) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
	}
	call := func(name, args string) llm.Part { return llm.Part{Kind: llm.ToolCall, Name: name, Args: args} }
	g := newGuarded(t, guardedClaude("--allowedTools", "Bash,Write,Edit,Agent,Task"), func(string) llmtest.Config {
		return llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
			prompt, calls := "", 0
			for _, m := range req.Messages {
				for _, p := range m.Parts {
					if p.Kind == llm.Text && m.Role == llm.User && prompt == "" && strings.Contains(p.Text, "task: ") {
						_, prompt, _ = strings.Cut(p.Text, "task: ")
					}
					if p.Kind == llm.ToolCall {
						calls++
					}
				}
			}
			sub, _, _ := strings.Cut(prompt, " ")
			switch {
			case prompt == "" || !offers(req, "Bash"):
			case strings.HasPrefix(sub, "all") && calls == 0:
				agent := "Agent"
				if !offers(req, agent) {
					agent = "Task"
				}
				return say(call(agent, `{"description":"one","prompt":"task: one ","subagent_type":"general-purpose"}`), call(agent, `{"description":"two","prompt":"task: two ","subagent_type":"general-purpose"}`))
			case strings.HasPrefix(sub, "all") && calls == 2:
				return say(call("Bash", `{"command":"sleep 1; echo main > main"}`))
			case (sub == "one" || sub == "two") && calls == 0: // the main agent ends its turn before the second one
				return say(call("Bash", `{"command":"echo `+sub+` > `+sub+`; sleep `+map[string]string{"one": "1", "two": "8"}[sub]+`; rm -f garden/`+sub+`"}`))
			}
			return say(llm.Part{Kind: llm.Text, Text: "Done."})
		}}
	})
	g.run("task: all of it")
	all, changed := g.trail()
	subs := map[string]bool{}
	for _, e := range changed {
		for _, f := range e.Flags {
			if id, ok := strings.CutPrefix(f, "sub-agent "); ok {
				subs[id] = true
			}
		}
	}
	flags := fmt.Sprint(changed)
	if strings.Contains(fmt.Sprint(all), "did not see this call begin") || len(subs) != 2 || !strings.Contains(flags, "at the same time: ") || !g.has("one") || !g.has("two") || !g.has("main") {
		t.Errorf("%d sub-agents: %v", len(subs), all)
	}
	if exit, said := g.stet("undo", changed[0].Session, "--yes"); exit != 0 {
		t.Error(said)
	}
	g.clean()
}

// A command of the agent has moved a branch, made another one and stashed a file. Files are taken back, and after a second yes git is where it
// was. (GRD-3)
func TestGuardGit(t *testing.T) {
	need(t)
	takesLong(t)
	g := newGuarded(t, guardedClaude("--dangerously-skip-permissions"), scripted(
		llmtest.Say("I commit it.", llmtest.Shell(`git stash -q; rm -rf garden; echo x > new; git add -A .; git commit -qm agent; git branch other; git stash drop -q; git reset -q --soft HEAD~1`)), llmtest.Say("Done.")))
	g.env = append(g.env, "IS_SANDBOX=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	write(t, filepath.Join(g.repo, "README.md"), "# Mine\n")
	git(t, g.repo, "add", "README.md")
	state := func() string {
		return git(t, g.repo, "status", "--short", "--branch") + git(t, g.repo, "for-each-ref") + git(t, g.repo, "stash", "list") + read(t, g.repo, "README.md")
	}
	before := state()
	g.run("Clean up.")
	if g.has("garden") || state() == before {
		t.Fatal("the agent has not done its work")
	}
	person := openScreen(t, g.repo, g.env, []string{"sh", "-c", os.Getenv(envStet) + " undo --last; cat"})
	person.expect("[y/N]")
	if state() == before {
		t.Error("git was moved without a yes")
	}
	person.keys("y", "Enter")
	person.expect("Run these commands?")
	person.keys("y", "Enter")
	person.expect("undone: ")
	if after := state(); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
}

// opencode runs the commands of one answer at the same time. Both are in the trail and name each other, and an undo of both gives everything back. (GRD-4)
func TestGuardAtOnce(t *testing.T) {
	need(t)
	takesLong(t)
	g := newGuarded(t, opencode("messages", "anthropic", bound), scripted(
		llmtest.Say("Both.", llmtest.Shell("touch .git/a; while [ ! -e .git/b ]; do sleep 0.1; done; rm -r garden"), llmtest.Shell("touch .git/b; while [ ! -e .git/a ]; do sleep 0.1; done; echo b > b; sleep 1")),
		llmtest.Say("Done.")))
	g.run("Clean up.")
	all, changed := g.trail()
	if flags := fmt.Sprint(changed); g.has("garden") || !g.has("b") || len(changed) == 0 || strings.Count(flags, "at the same time: ") != len(changed) {
		t.Errorf("%v", all)
	}
	if exit, said := g.stet("undo", all[0].Session, "--yes"); exit != 0 || !strings.Contains(said, "ran at the same time") {
		t.Error(said)
	}
	g.clean()
}

// The guard is killed in the middle of a call: the agent goes on, or with --closed its next calls are denied. The next guard finds the calls in the agent's
// session files, and doctor and the next session say so. (GRD-2)
func TestGuardKilled(t *testing.T) {
	need(t)
	for name, c := range map[string]struct {
		a      agent
		flags  []string
		closed bool
	}{
		"claude": {a: guardedClaude()}, "claude closed": {guardedClaude(), []string{"--closed"}, true}, "codex": {a: codex},
		"opencode closed": {opencode("messages", "anthropic", bound), []string{"--closed"}, true},
		"qwen":            {a: newer(qwen("chat", "openai"), "0.24.4")}, "gemini": {a: gemini}, "copilot": {a: copilot("1.0.102")}, "copilot closed": {copilot("1.0.102"), []string{"--closed"}, true},
		"pi": {a: newer(pi("messages", "anthropic", bound), "1.5.2")}, "pi closed": {newer(pi("messages", "anthropic", bound), "1.5.2"), []string{"--closed"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.a.skip(t); name == "gemini" {
				takesLong(t)
			}
			t.Parallel()
			g := newGuarded(t, c.a, func(repo string) llmtest.Config {
				return llmtest.Config{Script: llmtest.Script{Root: repo, Turns: []llmtest.Turn{
					llmtest.Say("I remove it.", llmtest.Shell("sh "+filepath.Join(repo, ".git", "end")+"; "+removes)),
					llmtest.Say("I go on.", llmtest.Shell("echo later > later")), llmtest.Say("Done."),
				}}}
			}, c.flags...)
			g.run("Clean up.")
			g.guard.end(syscall.SIGKILL)
			if g.has("garden") || g.has("later") == c.closed {
				t.Errorf("closed %t: the second call ran: %t", c.closed, g.has("later"))
			}
			if all, _ := g.trail(); len(all) > 0 {
				t.Error(all)
			}
			if _, said := g.stet("doctor"); !strings.Contains(said, "the guard is off since") {
				t.Error(said)
			}
			if g.start(); c.a.name == "gemini" || c.a.name == "copilot" {
				return // their hooks have no ids of calls, by which to find them
			}
			want := map[bool]int{true: 1, false: 2}[c.closed]
			waits(t, "doctor says when the guard was off", func() bool {
				_, said := g.stet("doctor")
				return strings.Contains(said, "the guard was off from")
			})
			all, _ := g.trail()
			found := 0
			for _, e := range all {
				if strings.Contains(strings.Join(e.Flags, " "), "this call cannot be undone") {
					found++
				}
			}
			if found != want {
				t.Errorf("%d calls are found: %v", found, all)
			}
		})
	}
}

// A call of an MCP server is recorded and taken back. One of stet's own tools is one record; and another server of that name is none of stet's. What the
// agent has read with its own tools counts as read for stet's. (GRD-3)
func TestGuardMCP(t *testing.T) {
	need(t)
	claude, open := guardedClaude("--allowedTools", "Read,mcp__files__write_file,mcp__stet__write_file"), opencode("messages", "anthropic", bound)
	newQwen := newer(qwen("chat", "openai"), "0.24.4")
	for _, c := range []struct {
		a             agent
		server, store string
		guard         int    // entries of the guard that changed something
		file          string // that is written
	}{
		{claude, "files", "elsewhere", 1, "NOTES.md"}, {claude, "files", "", 0, "NOTES.md"}, {claude, "stet", "", 0, "NOTES.md"}, {claude, "stet", "elsewhere", 1, "NOTES.md"}, {claude, "stet", "", 0, "README.md"},
		{codex, "files", "elsewhere", 1, "NOTES.md"}, {codex, "stet", "", 0, "README.md"}, {open, "files", "elsewhere", 1, "NOTES.md"}, {open, "stet", "", 0, "README.md"},
		{newQwen, "files", "elsewhere", 1, "NOTES.md"}, {newQwen, "stet", "", 0, "README.md"}, {gemini, "files", "elsewhere", 1, "NOTES.md"}, {gemini, "stet", "", 0, "README.md"},
		{copilot("1.0.102"), "files", "elsewhere", 1, "NOTES.md"}, {copilot("1.0.102"), "stet", "", 0, "README.md"},
	} {
		t.Run(c.a.name+" "+c.server+" "+c.store+" "+c.file, func(t *testing.T) {
			if c.a.skip(t); c.a.name == "gemini" {
				takesLong(t)
			}
			t.Parallel()
			name := c.a.mcpTool(c.server, "write_file")
			g := newGuarded(t, c.a, scripted(
				llmtest.Say("I read.", llmtest.Read("README.md")), llmtest.Say("I write.", llmtest.Call(name, `{"path":"`+c.file+`","content":"# Notes\n"}`)),
				llmtest.Say("I write where I must not.", llmtest.Call(name, `{"path":"locked/x.md","content":"x\n"}`)), llmtest.Say("Done.")))
			flags := g.serves(c.server, c.store)
			before := read(t, g.repo, "README.md")
			g.run("Write.", flags...)
			if read(t, g.repo, c.file) != "# Notes\n" {
				t.Fatal("nothing was written")
			}
			if !g.told("policy denies this") || g.has("locked") {
				t.Error("the model did not read why a call was denied")
			}
			g.guard.end(syscall.SIGTERM) // what waits is decided
			all, changed := g.trail()
			if len(changed) != c.guard || slices.ContainsFunc(all, func(e record.Entry) bool { return slices.Contains(e.Flags, "unread") }) {
				t.Error(all)
			}
			g.undoAll(1)
			if read(t, g.repo, "README.md") != before {
				t.Error("README.md is not as it was")
			}
		})
	}
}

// serves gives the agent stet's own tools as an MCP server with a name. Its state is in a directory of the home; "": where the guard's is. It returns
// flags for the agent.
func (g *guarded) serves(name, state string) (flags []string) {
	t := g.t
	t.Helper()
	env := map[string]string{"HOME": g.home, "XDG_STATE_HOME": filepath.Join(g.home, ".local/state"), "XDG_CONFIG_HOME": filepath.Join(g.home, ".config")}
	if state != "" { // its entries are in no trail that the guard knows
		env["XDG_STATE_HOME"] = filepath.Join(g.home, state)
	}
	command := []string{os.Getenv(envStet), "mcp", "--root", g.repo}
	one := map[string]any{"command": command[0], "args": command[1:], "env": env}
	switch g.a.name {
	case "qwen", "gemini":
		file := filepath.Join(g.home, "."+g.a.name, "settings.json")
		var all map[string]any
		if err := json.Unmarshal([]byte(read(t, filepath.Dir(file), "settings.json")), &all); err != nil {
			t.Fatal(err)
		}
		one["trust"], all["mcpServers"] = true, map[string]any{name: one}
		writeJSON(t, file, all)
	case "copilot":
		one["type"], one["tools"] = "local", []string{"*"}
		writeJSON(t, filepath.Join(g.home, ".copilot/mcp-config.json"), map[string]any{"mcpServers": map[string]any{name: one}})
	case "claude":
		file := filepath.Join(g.home, "servers.json")
		writeJSON(t, file, map[string]any{"mcpServers": map[string]any{name: one}})
		flags = []string{"--mcp-config", file}
	case "codex":
		text := fmt.Sprintf("\n[mcp_servers.%s]\ncommand = %q\nargs = [%q, %q, %q]\n[mcp_servers.%[1]s.env]\n", name, command[0], command[1], command[2], command[3])
		for k, v := range env {
			text += fmt.Sprintf("%s = %q\n", k, v)
		}
		file := filepath.Join(g.home, ".codex/config.toml")
		write(t, file, read(t, filepath.Dir(file), "config.toml")+text)
	case "opencode":
		file := filepath.Join(g.home, ".config/opencode/opencode.json")
		var all map[string]any
		if err := json.Unmarshal([]byte(read(t, filepath.Dir(file), "opencode.json")), &all); err != nil {
			t.Fatal(err)
		}
		all["mcp"] = map[string]any{name: map[string]any{"type": "local", "command": command, "enabled": true, "environment": env}}
		writeJSON(t, file, all)
	}
	return flags
}

// mcpTool is the name of a tool of an MCP server, as the agent calls it.
func (a agent) mcpTool(server, tool string) string {
	switch a.name {
	case "opencode":
		return server + "_" + tool
	case "codex":
		return "mcp__" + server + "/" + tool
	case "gemini":
		return "mcp_" + server + "_" + tool
	case "copilot":
		return server + "-" + tool
	}
	return "mcp__" + server + "__" + tool
}

func writeJSON(t *testing.T, file string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text))
}

// randomCommand returns commands that make, change, move and remove files, directories and links.
func randomCommand(rng *rand.Rand, n int) string {
	path := func() string {
		parts := []string{"garden"}[:rng.IntN(2)]
		for range 1 + rng.IntN(3) {
			parts = append(parts, string(rune('a'+rng.IntN(5))))
		}
		return strings.Join(parts, "/")
	}
	var all []string
	for range 1 + rng.IntN(5) {
		p, q := path(), path()
		n++
		all = append(all, []string{
			fmt.Sprintf("mkdir -p $(dirname %s) && printf 'text %d\\n' > %s", p, n, p), fmt.Sprintf("printf 'more %d\\n' >> %s", n, p), "rm -rf " + p, "mv " + p + " " + q,
			"chmod 7" + []string{"00", "55", "44"}[rng.IntN(3)] + " " + p, "ln -s ../b " + p, "ln " + p + " " + q, "mkdir -p " + p, "cp -r " + p + " " + q, "find . -mindepth 1 -not -path './.git*' -delete", "git checkout -q . ",
			"sed -i s/text/changed/ $(find . -path ./.git -prune -o -type f -print)",
		}[rng.IntN(12)])
	}
	return strings.Join(all, "; ")
}

// scene has the names, modes, links and contents of a tree without git's own.
func scene(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" || d.Name() == "person.txt" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link, _ := os.Readlink(name)
		text := []byte(nil)
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %s %q\n", strings.TrimPrefix(name, dir), info.Mode(), link, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What users have reported as lost, done by the Bash of Claude Code through its hooks in a project of 2,000 files: each is taken back, byte for byte, with
// modes and links, as a copy has it. (GRD-3)
func TestGuardReported(t *testing.T) {
	need(t)
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("set STET_SOAK")
	}
	snaps := t.TempDir()
	scripts := []string{
		"find src -type f -exec sed -i s/file/changed/ {} +", "gofmt -w src", "chmod -R go-rwx,u+x .", "echo more >> src/d01/f7.txt; git checkout -q .",
		"(for f in src/*/*; do rm $f; echo x > $f.new; done) & p=$!; while [ ! -e src/d00/f3.txt.new ]; do :; done; kill -9 $p; wait $p || true",
		"npm install --offline --no-audit --no-fund ./local", "mv src lib; mv other lib/; mkdir src; mv lib/d05 src/", "rm -rf src", "git clean -fdxq -e node_modules",
		"git reset -q --hard HEAD~1", "rm -rf lib other local",
	}
	var turns []llmtest.Turn
	for i, script := range scripts {
		turns = append(turns, llmtest.Say(fmt.Sprint("Step ", i), llmtest.Shell(fmt.Sprintf("{ %s; } >/dev/null 2>&1; cp -a . %s/%d", script, snaps, i))))
	}
	g := newGuarded(t, guardedClaude("--dangerously-skip-permissions"), scripted(append(turns, llmtest.Say("Done."))...), "--closed")
	g.env = append(g.env, "IS_SANDBOX=1")
	g.noRules()
	for i := range 2000 {
		write(t, filepath.Join(g.repo, fmt.Sprintf("src/d%02d/f%d.txt", i/100, i%100+1)), fmt.Sprintf("file %d\n", i))
	}
	if exit, said := run(t, g.repo, append(g.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"), []string{"sh", "-ec", `
		mkdir other local; printf 'package   a\nfunc  f( ) { }\n' > src/a.go; chmod 755 src/d03/f3.txt; ln -s ../a.go src/d00/link
		printf '{"name":"app","version":"1.0.0"}' > package.json; printf '{"name":"local","version":"1.0.0","main":"index.js"}' > local/package.json; echo 1 > local/index.js
		printf 'node_modules/\n*.log\n.env\n' > .gitignore; echo o > other/o; git add .; git commit -qm one; echo changed >> src/d01/f1.txt; git commit -qam two
		echo mine >> src/d02/f2.txt; echo staged > staged; git add staged; echo untracked > untracked; echo S=1 > .env; echo log > x.log; mkdir empty`}); exit != 0 {
		t.Fatal(said)
	}
	states := []string{scene(t, g.repo)}
	g.run("Work.")
	for i := range scripts {
		states = append(states, scene(t, filepath.Join(snaps, fmt.Sprint(i))))
	}
	for i := len(scripts) - 1; i >= 0; i-- {
		if states[i] == states[i+1] {
			t.Errorf("%s: nothing was changed", scripts[i])
			continue
		}
		began := time.Now()
		if exit, said := g.stet("undo", "--last", "--yes"); exit != 0 || scene(t, g.repo) != states[i] {
			t.Fatalf("%s: exit code %d, %s", scripts[i], exit, said)
		}
		t.Logf("taken back in %v: %s", time.Since(began).Round(time.Millisecond), scripts[i])
	}
}

// A hundred random sequences of commands, run by the Bash of Claude Code through its hooks, are taken back one by one, and some are done again in
// between. A person's file stays. (GRD-3)
func TestGuardRandom(t *testing.T) {
	need(t)
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("set STET_SOAK")
	}
	const calls = 100
	rng := rand.New(rand.NewPCG(1, 2))
	snaps := t.TempDir()
	var turns []llmtest.Turn
	for i := range calls {
		turns = append(turns, llmtest.Say(fmt.Sprint("Step ", i), llmtest.Shell(fmt.Sprintf("(%s) 2>/dev/null; cp -a . %s/%d", randomCommand(rng, i*10), snaps, i))))
	}
	g := newGuarded(t, guardedClaude("--dangerously-skip-permissions"), scripted(append(turns, llmtest.Say("Done."))...))
	g.env = append(g.env, "IS_SANDBOX=1")
	g.noRules()
	states := []string{scene(t, g.repo)}
	g.run("Work.")
	for i := range calls {
		dir := filepath.Join(snaps, fmt.Sprint(i))
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("the agent has not run call %d", i)
		}
		states = append(states, scene(t, dir))
	}
	write(t, filepath.Join(g.repo, "person.txt"), "mine")
	for i := calls - 1; i >= 0; i-- {
		after, want := states[i+1], states[i]
		if after == want {
			continue // it changed nothing
		}
		if exit, said := g.stet("undo", "--last", "--yes"); exit != 0 || scene(t, g.repo) != want {
			t.Fatalf("step %d: exit code %d, %s\ngot\n%s\nwant\n%s", i, exit, said, scene(t, g.repo), want)
		}
		if i%7 > 0 {
			continue
		}
		all, _ := g.trail()
		if exit, said := g.stet("undo", fmt.Sprint(all[len(all)-1].Seq), "--yes"); exit != 0 || scene(t, g.repo) != after {
			t.Fatalf("step %d again: exit code %d, %s\ngot\n%s\nwant\n%s", i, exit, said, scene(t, g.repo), after)
		}
		if exit, said := g.stet("undo", "--last", "--yes"); exit != 0 || scene(t, g.repo) != want {
			t.Fatalf("step %d, taken back again: exit code %d, %s", i, exit, said)
		}
	}
	if text := read(t, g.repo, "person.txt"); text != "mine" {
		t.Error(text)
	}
}
