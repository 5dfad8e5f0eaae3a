package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
)

// screen is a program in a terminal of tmux.
type screen struct {
	t      *testing.T
	socket string
}

// openScreen runs a command in a terminal, in a directory, until the test ends.
func openScreen(t *testing.T, dir string, env, command []string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	at, err := os.MkdirTemp("", "stet-e2e-") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t, filepath.Join(at, "s")}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "TERM=") || strings.HasPrefix(v, "CI=") })
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", "/dev/null", "new-session", "-d", "-x", "130", "-y", "45", "--"}, command...)...)
	cmd.Dir, cmd.Env = dir, append(env, "TERM=xterm-256color")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen of %s:\n%s", command[0], s.shows())
		}
		_, _ = s.tmux("kill-server") // it may have ended
		_ = os.RemoveAll(at)
	})
	return s
}

func (s *screen) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	return string(out), err
}

func (s *screen) shows() string {
	text, _ := s.tmux("capture-pane", "-p", "-S", "-200")
	return text
}

// keys types text, or presses keys by their names in tmux.
func (s *screen) keys(keys ...string) {
	s.t.Helper()
	if out, err := s.tmux(append([]string{"send-keys"}, keys...)...); err != nil {
		s.t.Fatalf("tmux: %v: %s", err, out)
	}
}

// patience is how long a test waits for what must come. It is long: opencode alone takes more than a minute to start, and several minutes on a machine
// with much else to do.
const patience = 10 * time.Minute

// waits waits until something is so.
func waits(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// expect waits until the screen shows a text.
func (s *screen) expect(text string) {
	s.t.Helper()
	waits(s.t, "the screen shows "+text, func() bool { return strings.Contains(s.shows(), text) })
}

// asking is a real agent in a terminal, and a person with "stet approve" in another one.
type asking struct {
	*guarded
	person, agent *screen
	dialog        string // what the agent's terminal shows while it asks
}

// newAsking starts both. The guard asks about "git push". command is that of the agent.
func newAsking(t *testing.T, a agent, dialog string, command []string, turns ...llmtest.Turn) *asking {
	t.Helper()
	r := &asking{guarded: newGuarded(t, a, scripted(turns...)), dialog: dialog}
	r.configure("")
	if a.name == "codex" {
		r.trust()
	}
	r.approve()
	r.agent = openScreen(t, r.repo, r.env, command)
	return r
}

// configure writes the person's configuration, which the guard reads when it starts. more comes first.
func (r *asking) configure(more string) {
	r.t.Helper()
	write(r.t, filepath.Join(r.home, ".config/stet/config.toml"), fmt.Sprintf("listen = %q\n%s\n[[rule]]\ncommands = [\"git push\"]\ndo = \"ask\"\n\n[[rule]]\ntools = [\"write_file\"]\ndo = \"allow\"\n", r.listen, more))
}

// approve opens the person's terminal. Their editor changes each command.
func (r *asking) approve() {
	r.t.Helper()
	editor := filepath.Join(r.home, "editor")
	write(r.t, editor, "#!/bin/sh\nprintf 'touch edited' > \"$1\"\n")
	if err := os.Chmod(editor, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.person = openScreen(r.t, r.repo, append(slices.Clone(r.env), "EDITOR="+editor), []string{os.Getenv(envStet), "approve"})
}

// asks waits for a question, and for the agent's dialog next to it.
func (r *asking) asks(text string) {
	r.t.Helper()
	waits(r.t, "a question about "+text, func() bool {
		shown := r.person.shows()
		at := strings.LastIndex(shown, text)
		return at >= 0 && strings.Contains(shown[at:], "[q]uit >")
	})
	r.agent.expect(r.dialog)
}

// rejects answers the question with words, which the model reads.
func (r *asking) rejects(words string) {
	r.t.Helper()
	r.person.keys("r")
	r.person.expect("a message for the agent?")
	r.person.keys(words, "Enter")
	waits(r.t, "the model reads the words", func() bool { return r.told(words) })
}

// asksShowing waits for a question, and for texts that it shows.
func (r *asking) asksShowing(question string, texts []string) {
	r.t.Helper()
	r.asks(question)
	for _, text := range texts {
		r.person.expect(text)
	}
}

// allowed has the person approve a call of a kind, which makes a file.
func (r *asking) allowed(kind, question, file string, texts ...string) {
	r.t.Helper()
	r.asksShowing(question, texts)
	r.person.keys("a")
	r.there(file)
	r.happened(kind, "allowed")
}

// rejected has the person reject a call of a kind with words.
func (r *asking) rejected(kind, question, words string, texts ...string) {
	r.t.Helper()
	r.asksShowing(question, texts)
	r.rejects(words)
	r.happened(kind, "denied with words")
}

// changed has the person change a call of a kind, which then makes a file.
func (r *asking) changed(kind, question, file string) {
	r.t.Helper()
	r.asks(question)
	r.person.keys("e")
	r.person.expect("(y/N)")
	r.person.keys("y")
	r.there(file)
	r.happened(kind, "changed")
}

// denied checks that the files of denied calls are not there.
func (r *asking) denied(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if r.has(name) {
			r.t.Errorf("%s was denied, and is there", name)
		}
	}
}

// ends waits until a question has ended elsewhere, and has the person's terminal go on.
func (r *asking) ends(how string) {
	r.t.Helper()
	waits(r.t, "the question ends", func() bool {
		shown := strings.TrimSpace(r.person.shows())
		at := strings.LastIndex(shown, "no longer open: ")
		return strings.HasSuffix(shown, "Enter goes on") && strings.Contains(shown[max(at, 0):], how)
	})
	r.person.keys("Enter")
}

// says types a prompt for the agent.
func (r *asking) says(prompt string) {
	r.t.Helper()
	r.agent.submits(prompt, func() bool { return r.told(prompt) })
}

// submits types a prompt until it is read. An Enter that comes too early is a line end there, so it is pressed again.
func (s *screen) submits(prompt string, isRead func() bool) {
	s.t.Helper()
	s.keys(prompt)
	s.expect(prompt)
	var pressed time.Time
	waits(s.t, "the model reads "+prompt, func() bool {
		read := isRead()
		if !read && time.Since(pressed) > 5*time.Second {
			s.keys("Enter")
			pressed = time.Now()
		}
		return read
	})
}

// there waits for a file.
func (r *asking) there(name string) {
	r.t.Helper()
	waits(r.t, name+" is there", func() bool { return r.has(name) })
}

// decided checks the trail: each path or command, and who decided.
func (r *asking) decided(want ...string) {
	r.t.Helper()
	var trail string
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the trail:\n%s", trail)
		}
	})
	waits(r.t, fmt.Sprintf("the trail says %q", want), func() bool { // an entry is written shortly after the answer
		_, trail = r.stet("audit", "--last", "0")
		return !slices.ContainsFunc(want, func(w string) bool {
			what, how, _ := strings.Cut(w, ": ")
			return !slices.ContainsFunc(strings.Split(trail, "\n"), func(line string) bool { return strings.Contains(line, " "+what+": ") && strings.Contains(line, how) })
		})
	})
	if testing.Verbose() {
		r.t.Log(trail)
	}
	if strings.Contains(trail, "ran with other arguments") {
		r.t.Error("no other hook has changed a call")
	}
}

// takesLong skips a test that is not for every run: opencode needs a minute to start in a terminal.
func takesLong(t *testing.T) {
	t.Helper()
	if os.Getenv("STET_SOAK") == "" && os.Getenv("STET_AGENTS") != "all" {
		t.Skip("set STET_SOAK")
	}
}

// TestAsk lets a person decide about the native calls of real agents in a second terminal, while the agent shows its own dialog. (GRD-1)
func TestAsk(t *testing.T) {
	need(t)
	for name, ask := range map[string]func(*testing.T){
		"claude": askClaude, "codex": askCodex, "opencode": askOpencode, "qwen": askQwen, "gemini": held(gemini),
		"pi": held(newer(pi("messages", "anthropic", bound), "1.5.2")), "copilot": held(copilot("1.0.102")),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "claude" && name != "codex" {
				takesLong(t)
			}
			t.Parallel()
			ask(t)
		})
	}
}

// claudeInteractive is Claude Code with a person at its terminal.
var claudeInteractive = agent{
	name: "claude", wire: "messages",
	configure: func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding": true, "theme": "dark",
			"customApiKeyResponses": {"approved": ["sk-ant-dummy"], "rejected": []},
			"mcpServers": {"files": `+filesServer(home)+`},
			"projects": {"`+project(home)+`": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}`)
		return []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	},
}

// project is the workspace of a home: see places.
func project(home string) string { return filepath.Join(filepath.Dir(home), "project") }

// filesServer is an MCP server that is not known to be stet's: its entries are in a trail of its own.
func filesServer(home string) string {
	return fmt.Sprintf(`{"command": %q, "args": ["mcp", "--root", %q], "env": {"HOME": %q, "XDG_STATE_HOME": %q, "XDG_CONFIG_HOME": %q}}`,
		os.Getenv(envStet), project(home), home, filepath.Join(home, "elsewhere"), filepath.Join(home, ".config"))
}

func askClaude(t *testing.T) {
	command := []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", "default"}
	r := newAsking(t, claudeInteractive, "Esc to cancel", command,
		llmtest.Say("One.", llmtest.Shell("touch one")),
		llmtest.Say("Two.", llmtest.Shell("touch two")),
		llmtest.Say("Three.", llmtest.Shell("touch three")),
		llmtest.Say("Four.", llmtest.Write("four", "4\n")),
		llmtest.Say("Five.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("Six.", llmtest.Shell("touch six")),
		llmtest.Say("Seven.", llmtest.Shell("git push origin main")),
		llmtest.Say("Eight.", llmtest.Write("eight", "8\n")),
		llmtest.Say("Nine.", llmtest.Write("nine", "9\n")),
		llmtest.Say("Ten.", llmtest.Read("README.md")),
		llmtest.Say("Ten.", llmtest.Edit("README.md", "# Garden", "# Edited")),
		llmtest.Say("Eleven.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("Twelve.", llmtest.Call("mcp__files__write_file", `{"path":"twelve","content":"12\n"}`)),
		llmtest.Say("Thirteen.", llmtest.Call("mcp__files__write_file", `{"path":"thirteen","content":"13\n"}`)),
		llmtest.Say("Thirteen and a half.", llmtest.Shell("touch early; sleep 3; touch late")),
		llmtest.Say("Fourteen.", llmtest.Shell("touch fourteen")),
		llmtest.Say("All done."),
	)
	r.agent.expect("for shortcuts")
	r.says("Water the garden")
	r.asks("claude wants to run touch one")
	r.person.expect(`about "Water the garden"`)
	r.person.keys("a")
	r.agent.expect("Allowed by PermissionRequest hook")
	r.there("one")
	r.happened("Bash", "allowed")

	r.asks("claude wants to run touch two")
	r.rejects("ask the gardener first")
	r.agent.expect("Denied by PermissionRequest hook")
	r.happened("Bash", "denied with words")

	r.changed("Bash", "claude wants to run touch three", "edited")

	r.asks("claude wants to write four")
	r.person.expect("+4")
	r.agent.keys("Enter") // Yes, in the agent's dialog
	r.there("four")
	r.ends("approved at the agent")
	r.happened("Write", "a yes in the terminal")

	r.asks("claude wants to write " + bedsFile)
	r.person.expect("+" + newLevel)
	r.agent.keys("3") // No
	r.agent.keys("Enter")
	r.ends("the agent has gone on without it")
	r.says("carry on without it")
	r.happened("Edit", "a no in the terminal")

	r.asks("claude wants to run touch six")
	r.atOnce("wants to run git push", "Enter")
	r.there("six")
	r.happened("Bash", "two answers at once")

	r.asks("claude wants to run git push origin main")
	r.person.expect("rule 1")
	r.rejects("not today")
	r.happened("Bash", "a rule asks, and its dialog")

	r.rejected("Write", "claude wants to write eight", "no eighth")
	r.changed("Write", "claude wants to write nine", "nine")
	if read(t, r.repo, "nine") != "touch edited" {
		t.Error("the changed content was not written")
	}

	r.asks("claude wants to write README.md")
	r.person.keys("a")
	waits(t, "the edit is there", func() bool { return strings.Contains(read(t, r.repo, "README.md"), "# Edited") })
	r.happened("Edit", "allowed")

	r.rejected("Edit", "claude wants to write "+bedsFile, "the level stays")
	r.allowed("MCP", "claude wants to write twelve", "twelve")
	r.rejected("MCP", "claude wants to write thirteen", "no thirteenth")

	r.asks("claude wants to run touch early")
	r.agent.keys("Enter")
	r.there("early")
	r.person.keys("a") // the call runs already
	r.there("late")
	r.happened("Bash", "approved in the queue while it runs")

	r.asks("claude wants to run touch fourteen")
	r.decided("early: changed 1 path", "late: changed 1 path", "one: approved, by person", "-: rejected, by person", "edited: edited, by person", "four: approved, by person", "four: decided at the agent",
		bedsFile+": rejected, by person", bedsFile+": decided at the agent", "six: approved, by ", "nine: edited, by person", "README.md: approved, by person", "twelve: approved, by person")
	r.guard.end(syscall.SIGKILL)
	r.agent.keys("Enter") // the agent's own dialog goes on
	r.there("fourteen")
	r.happened("Bash", "service killed: the dialog goes on")

	r.denied("two", "three", "eight", "thirteen")
	if git(t, r.repo, "diff", "--stat", "--", bedsFile) != "" {
		t.Error("an edit that was denied is there")
	}
}

// atOnce answers with a yes in both terminals at once: one counts. Then comes the next question.
func (r *asking) atOnce(next string, yes ...string) {
	r.t.Helper()
	r.agent.keys(yes...)
	r.person.keys("a")
	waits(r.t, "it is over", func() bool {
		shown := strings.TrimSpace(r.person.shows())
		if strings.HasSuffix(shown, "Enter goes on") {
			r.person.keys("Enter")
		}
		return strings.Contains(shown, next)
	})
}

// Where a rule asks, Claude Code asks also in the modes in which it asks nobody. (GRD-1)
func TestAskModes(t *testing.T) {
	need(t)
	takesLong(t)
	for _, mode := range []string{"auto", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			command := []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", mode, "Publish it"}
			if mode == "auto" {
				command = slices.Insert(command, 1, "--settings", `{"permissions":{"allow":["Bash(touch:*)"]}}`)
			}
			a := claudeInteractive
			a.configure = func(t *testing.T, home, base string) []string {
				write(t, filepath.Join(home, ".claude", "settings.json"), `{"skipDangerousModePermissionPrompt": true}`)
				return append(claudeInteractive.configure(t, home, base), "IS_SANDBOX=1")
			}
			r := newAsking(t, a, "Esc to cancel", command,
				llmtest.Say("One.", llmtest.Shell("touch one")), llmtest.Say("Two.", llmtest.Shell("git push origin main && touch two")),
				llmtest.Say("Three.", llmtest.Shell("git push origin three || touch three")), llmtest.Say("All done."))
			r.asks("claude wants to run git push origin main")
			if !r.has("one") {
				t.Error("a command was asked about that no rule names")
			}
			r.person.expect("rule 1")
			r.rejects("not today")
			r.asks("claude wants to run git push origin three")
			r.person.keys("a")
			r.there("three")
			r.happened("Bash", map[string]string{"auto": "auto mode: a rule asks", "bypassPermissions": "bypass: a rule asks"}[mode])
		})
	}
}

// Without a person at the agent a call is held while stet's queue asks. Then it is denied, with words that name the question. (GRD-1)
func TestAskHeadless(t *testing.T) {
	need(t)
	for _, a := range []agent{
		guardedClaude("--allowedTools", "Read"), codex, opencode("messages", "anthropic", bound), pi("messages", "anthropic", bound), gemini,
		newer(qwen("chat", "openai"), "0.24.4"), copilot("1.0.102"),
	} {
		name := a.name
		t.Run(name, func(t *testing.T) {
			if a.skip(t); name == "gemini" {
				takesLong(t)
			}
			t.Parallel()
			r := &asking{guarded: newGuarded(t, a, scripted(
				llmtest.Say("I publish it.", llmtest.Shell("git push origin main")), llmtest.Say("I write.", llmtest.Write("NOTES.md", "# Notes\n")), llmtest.Say("Done.")))}
			r.guard.end(syscall.SIGTERM)
			r.configure("ask-wait = 1\nask-pause = 1\n")
			r.start()
			r.run("Publish it.")
			if !r.told(`nobody answered the question \"` + name + ` wants to run git push origin main\" within 1s (asked because of: rule 1)`) {
				t.Error("the model did not read why a command was denied")
			}
			if own := name == "claude"; r.told(`wants to write NOTES.md (8 bytes), a new file\" within 1s (asked because of: the agent's own rules)`) != own || r.has("NOTES.md") == own {
				t.Error("what the agent's own rules ask")
			}
			r.happened("Bash", "headless: late, denied with words")
		})
	}
}

// codexInteractive asks about all that leaves its sandbox, which only reads.
var codexInteractive = agent{
	name: "codex", wire: "responses",
	configure: func(t *testing.T, home, base string) []string {
		env := codex.configure(t, home, base)
		file := filepath.Join(home, ".codex/config.toml")
		write(t, file, "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n"+read(t, filepath.Dir(file), "config.toml")+
			fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n", project(home))+
			fmt.Sprintf("[mcp_servers.files]\ncommand = %q\nargs = [\"mcp\", \"--root\", %q]\n[mcp_servers.files.env]\nHOME = %q\nXDG_STATE_HOME = %q\nXDG_CONFIG_HOME = %q\n",
				os.Getenv(envStet), project(home), home, filepath.Join(home, "elsewhere"), filepath.Join(home, ".config")))
		return env
	},
}

// Codex's dialog waits for the hook, and comes if nobody has answered.
func askCodex(t *testing.T) {
	leaves := func(command string) llmtest.Action {
		return llmtest.Call("exec_command", fmt.Sprintf(`{"cmd":%q,"sandbox_permissions":"require_escalated","justification":"May I?"}`, command))
	}
	const dialog = "Press enter to confirm"
	r := newAsking(t, codexInteractive, "Running hook", []string{"codex", "--no-daemon", "Water the garden"},
		llmtest.Say("One.", leaves("touch one")),
		llmtest.Say("Two.", leaves("touch two")),
		llmtest.Say("Three.", llmtest.Write("three", "3\n")),
		llmtest.Say("Four.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("MCP.", llmtest.Call("mcp__files/write_file", `{"path":"m1","content":"1\n"}`)),
		llmtest.Say("MCP.", llmtest.Call("mcp__files/write_file", `{"path":"m2","content":"2\n"}`)),
		llmtest.Say("Five.", leaves("git push origin main")),
		llmtest.Say("Six.", leaves("touch six")),
		llmtest.Say("Seven.", leaves("touch seven")),
		llmtest.Say("Eight.", llmtest.Write("eight", "8\n")),
		llmtest.Say("All done."),
	)
	r.allowed("Bash", "codex wants to run touch one", "one")
	r.rejected("Bash", "codex wants to run touch two", "ask the gardener first")
	r.allowed("apply_patch", "codex wants to write three", "three", "+3")
	r.rejected("apply_patch", "codex wants to write "+bedsFile, "the level stays")

	r.allowed("MCP", "codex wants to write m1", "m1")
	r.rejected("MCP", "codex wants to write m2", "no second")

	r.asks("codex wants to run git push origin main") // a rule asks before Codex does
	r.person.expect("rule 1")
	r.rejects("not today")
	r.happened("Bash", "a rule asks: held")

	r.asks("codex wants to run touch six")
	r.guard.end(syscall.SIGKILL)
	r.agent.expect(dialog)
	r.configure("ask-pause = 1\n")
	r.start() // before the next call
	r.agent.keys("y")
	r.there("six")
	r.happened("Bash", "service killed: the dialog goes on")

	r.agent.expect("Seven.")
	r.agent.expect(dialog) // no answer came in time
	r.agent.keys("y")
	r.there("seven")
	r.happened("Bash", "late: the dialog comes")
	r.agent.expect("eight")
	r.agent.expect(dialog)
	r.agent.keys("Escape") // No
	r.agent.expect("Conversation interrupted")
	r.happened("apply_patch", "a no in the terminal")

	r.decided("one: approved, by person", "-: rejected, by person", "three: approved, by person", bedsFile+": rejected, by person", "seven: allowed, by the agent")
	r.denied("two", "eight", "m2")
	if git(t, r.repo, "diff", "--stat") != "" {
		t.Error("an edit that was denied is there")
	}
}

// opencodeInteractive asks about all that it does.
func opencodeInteractive() agent {
	a := opencode("messages", "anthropic", bound)
	configure := a.configure
	a.configure = func(t *testing.T, home, base string) []string {
		env := configure(t, home, base)
		dir := filepath.Join(home, ".config/opencode")
		text := strings.Replace(read(t, dir, "opencode.json"), `"edit": "allow", "bash": "allow"`, `"*": "ask"`, 1)
		server := fmt.Sprintf(`"mcp": {"files": {"type": "local", "command": ["env", "XDG_STATE_HOME=%s", %q, "mcp", "--root", %q]}}, "provider"`, filepath.Join(home, "elsewhere"), os.Getenv(envStet), project(home))
		write(t, filepath.Join(dir, "opencode.json"), strings.Replace(text, `"provider"`, server, 1))
		return env
	}
	return a
}

func askOpencode(t *testing.T) {
	r := newAsking(t, opencodeInteractive(), "Allow once", []string{"opencode", "--model", "anthropic/" + bound, "--prompt", "Water the garden"},
		llmtest.Say("One.", llmtest.Shell("touch one")),
		llmtest.Say("Two.", llmtest.Shell("touch two")),
		llmtest.Say("Three.", llmtest.Write("three", "3\n")),
		llmtest.Say("Four.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("Five.", llmtest.Call("files_write_file", `{"path":"five","content":"5\n"}`)),
		llmtest.Say("Six.", llmtest.Shell("touch six")),
		llmtest.Say("Seven.", llmtest.Shell("git push origin main")),
		llmtest.Say("Eight.", llmtest.Write("eight", "8\n")),
		llmtest.Say("Edit.", llmtest.Edit("README.md", "# Garden", "# Edited")),
		llmtest.Say("MCP.", llmtest.Call("files_write_file", `{"path":"ten","content":"10\n"}`)),
		llmtest.Say("Write.", llmtest.Write("eleven", "11\n")),
		llmtest.Say("Nine.", llmtest.Shell("touch nine")),
		llmtest.Say("All done."),
	)
	r.allowed("Bash", "opencode wants to run touch one", "one", `about "Water the garden"`)
	r.rejected("Bash", "opencode wants to run touch two", "ask the gardener first")

	r.asks("opencode wants to write three")
	r.person.expect("+3")
	r.agent.keys("Enter") // Allow once
	r.there("three")
	r.ends("approved at the agent")
	r.happened("Write", "a yes in the terminal")

	r.asks("opencode wants to write " + bedsFile)
	r.person.expect("+" + newLevel)
	r.person.keys("a")
	waits(t, "the edit is there", func() bool { return git(t, r.repo, "diff", "--stat") != "" })
	r.happened("Edit", "allowed")

	r.allowed("MCP", "opencode wants to write five", "five")

	r.asks("opencode wants to run touch six")
	r.dialog = "" // a rule asks while opencode shows that the call runs
	r.atOnce("wants to run git push", "Enter")
	r.there("six")
	r.happened("Bash", "two answers at once")

	r.asks("opencode wants to run git push origin main")
	r.person.expect("rule 1")
	r.rejects("not today")
	r.happened("Bash", "a rule asks: held")

	r.dialog = "Allow once"
	r.asks("opencode wants to write eight")
	r.agent.keys("Right", "Right", "Enter") // Reject
	r.ends("rejected at the agent")
	waits(t, "the dialog closes", func() bool { return !strings.Contains(r.agent.shows(), "Reject") })
	r.says("carry on without it")
	r.happened("Write", "a no in the terminal")

	r.rejected("Edit", "opencode wants to write README.md", "the title stays")
	r.rejected("MCP", "opencode wants to write ten", "no tenth")
	r.rejected("Write", "opencode wants to write eleven", "no eleventh")

	r.asks("opencode wants to run touch nine")
	r.guard.end(syscall.SIGKILL)
	r.agent.keys("Enter")
	r.there("nine")
	r.happened("Bash", "service killed: the dialog goes on")

	r.decided("one: approved, by person", "-: rejected, by person", "three: approved, by person", "three: decided at the agent", bedsFile+": approved, by person",
		"five: approved, by person", "six: approved, by ", "eight: rejected, by person", "eight: decided at the agent")
	r.denied("two", "eight", "ten", "eleven")
}
