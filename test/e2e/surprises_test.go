package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// hooked is an agent with a hook that is no part of stet: a shell command before each call.
type hooked struct {
	a       agent
	event   string // "": that before each call
	hook    string // it touches $ANSWERED; of opencode: a plugin
	timeout int    // in the unit that the agent takes
	closed  bool   // with onFailure: "block"
	write   bool   // the call writes a file; otherwise it is a command
	runs    bool   // whether the call runs
	hangs   bool   // the agent does not end
	says    string // what the model reads
}

// install writes the agent's file of hooks.
func (h hooked) install(t *testing.T, home string) {
	hook := map[string]any{"name": "test", "type": "command", "command": h.hook, "timeout": h.timeout}
	if h.closed {
		hook["onFailure"] = "block"
	}
	file, event := map[string]string{"claude": ".claude", "codex": ".codex", "gemini": ".gemini", "qwen": ".qwen"}[h.a.name], "PreToolUse"
	switch h.a.name {
	case "opencode":
		write(t, filepath.Join(home, ".config/opencode/plugin/test.js"), h.hook)
		write(t, filepath.Join(home, ".config/opencode/package-lock.json"), `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}`)
		write(t, filepath.Join(home, ".config/opencode/node_modules/x"), "")
		return
	case "codex":
		file += "/hooks.json"
		delete(hook, "name")
	case "gemini":
		file, event = file+"/settings.json", "BeforeTool"
	default:
		file += "/settings.json"
	}
	if h.event != "" {
		event = h.event
	}
	file = filepath.Join(home, file)
	all := map[string]any{}
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
	}
	all["hooks"] = map[string]any{event: []any{map[string]any{"matcher": "*", "hooks": []any{hook}}}}
	writeJSON(t, file, all)
}

// run lets the agent make one call, and checks what happens.
func (h hooked) run(t *testing.T) {
	home, repo := places(t, h.a)
	does := llmtest.Shell("touch ran")
	if h.write {
		does = llmtest.Write("ran", "x\n")
	}
	model, err := strictmodel.Start(llmtest.Config{Script: llmtest.Script{Root: repo, Turns: []llmtest.Turn{llmtest.Say("I do it.", does), llmtest.Say("Done.")}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	env := append(environment(home), h.a.configure(t, home, model.URL)...)
	env = append(env, "ANSWERED="+filepath.Join(home, "answered"))
	h.install(t, home)
	args := h.a.command(home, "Do it.", false)
	if h.hangs { // the time counts from the hook's answer
		args = []string{"sh", "-c", `"$@" & while [ ! -e $ANSWERED ]; do sleep 0.1; done; sleep 20; kill -0 $! && touch $ANSWERED.alive; kill -9 $!`, "sh"}
		args = append(args, h.a.command(home, "Do it.", false)...)
	}
	_, said := run(t, repo, env, args)
	_, alive := os.Stat(filepath.Join(home, "answered.alive"))
	_, ran := os.Stat(filepath.Join(repo, "ran"))
	told := slices.ContainsFunc(model.Requests(), func(r llmtest.Request) bool { return strings.Contains(string(r.Body), h.says) })
	if (ran == nil) != h.runs || (alive == nil) != h.hangs || h.says != "" && !told {
		t.Errorf("the call ran: %t, want %t; the agent hung: %t, want %t; the model has read %q: %t\n%s", ran == nil, h.runs, alive == nil, h.hangs, h.says, told, said)
	}
	if _, err := os.Stat(filepath.Join(home, "answered")); (err == nil) != strings.Contains(h.hook, "$ANSWERED") {
		t.Errorf("the hook ran: %t\n%s", err == nil, said)
	}
	if strings.Contains(said, "untrusted") || strings.Contains(said, "Untrusted") {
		t.Errorf("the agent says that it skips hooks:\n%s", said)
	}
}

// of returns the agent as it is installed for STET_AGENTS=all, with the Node that it needs.
func of(a agent, version string) agent {
	dir := filepath.Join(os.Getenv(envOthers), a.name+"@"+version, "node_modules", ".bin")
	configure := a.configure
	a.configure = func(t *testing.T, home, base string) []string {
		if _, err := exec.LookPath(filepath.Join(dir, a.name)); err != nil {
			t.Skip("set STET_AGENTS=all: ", err)
		}
		return append(configure(t, home, base), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	command := a.command
	a.command = func(home, prompt string, again bool) []string {
		args := command(home, prompt, again)
		args[0] = filepath.Join(dir, a.name)
		return args
	}
	return a
}

// prints is a hook that prints something.
func prints(text string) string { return "touch $ANSWERED; cat >/dev/null; printf %s '" + text + "'" }

// decides is the answer of a hook before a call, in the form of Claude Code, Codex and Qwen Code.
func decides(how, why string) string {
	return fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q,"permissionDecisionReason":%q}}`, how, why)
}

// What surprises in the hooks of agents, and what the guard is built on: each is as it was when the guard was made for it. The others of
// the eleven: an answer that comes too late (5) is in TestAsk/claude and TestAnsweredElsewhere, and betas that are lost with a variable (10) are in TestDoctor with
// Claude Code 2.1.300. (GRD-2)
func TestSurprises(t *testing.T) {
	need(t)
	takesLong(t)
	claude, trusting := guardedClaude(), codex
	trusting.command = func(home, prompt string, again bool) []string {
		return slices.Insert(codex.command(home, prompt, again), 2, "--dangerously-bypass-hook-trust")
	}
	deny, waits := prints(decides("deny", "because I say so")), "sleep 2; "+prints(decides("deny", "because I say so"))
	for name, h := range map[string]hooked{
		"1 codex, ask":           {a: trusting, hook: prints(decides("ask", "a person")), timeout: 30, runs: true},
		"1 codex, allow":         {a: trusting, hook: prints(decides("allow", "fine")), timeout: 30, runs: true},
		"1 codex, deny":          {a: trusting, hook: deny, timeout: 30, says: "because I say so"},
		"2 qwen, 65 seconds":     {a: of(qwen("chat", "openai"), "0.24.4"), hook: "touch $ANSWERED; sleep 65; " + deny, timeout: 300, runs: true},
		"3 codex, no trust":      {a: codex, hook: "exit 2", timeout: 30, runs: true},
		"4 claude, auto mode":    {a: guardedClaude("--permission-mode", "auto"), event: "PermissionRequest", hook: "exit 2", timeout: 30, write: true, runs: true},
		"6 opencode, throws":     {a: opencode("messages", "anthropic", bound), hook: "throw new Error('broken')\nexport const X = async () => ({ 'tool.execute.before': async () => { throw new Error('no') } })\n", runs: true},
		"7 claude, no JSON":      {a: claude, hook: prints("hello " + decides("deny", "no")), timeout: 30, closed: true, runs: true},
		"7 codex, no JSON":       {a: trusting, hook: prints("hello " + decides("deny", "no")), timeout: 30, runs: true},
		"8 gemini, ask":          {a: gemini, hook: prints(`{"decision":"ask","reason":"a person"}`), timeout: 30_000, hangs: true},
		"9 claude, seconds":      {a: claude, hook: waits, timeout: 30, says: "because I say so"},
		"9 codex, seconds":       {a: trusting, hook: waits, timeout: 30, says: "because I say so"},
		"9 gemini, milliseconds": {a: gemini, hook: "touch $ANSWERED; sleep 2; " + prints(`{"decision":"deny","reason":"because I say so"}`), timeout: 30, runs: true},
		"9 qwen, seconds":        {a: of(qwen("chat", "openai"), "0.24.4"), hook: waits, timeout: 30, says: "because I say so"},
		"9 qwen, milliseconds":   {a: of(qwen("chat", "openai"), "0.24.4"), hook: "touch $ANSWERED; sleep 4; " + deny, timeout: 1000, runs: true},
		"11 claude, exit 2":      {a: claude, hook: "python3 /nonexistent", timeout: 30, says: "hook error"},
		"11 claude, exit 127":    {a: claude, hook: "/nonexistent/stet hook claude PreToolUse", timeout: 30, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.run(t)
		})
	}
}
