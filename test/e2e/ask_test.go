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

// waits waits until something is so.
func waits(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// expect waits until the screen shows a text.
func (s *screen) expect(text string) {
	s.t.Helper()
	waits(s.t, "the screen shows "+text, func() bool { return strings.Contains(s.shows(), text) })
}

// TestAsk lets a person decide about the native calls of real agents in a second terminal, while the agent shows its own dialog. (GRD-1)
func TestAsk(t *testing.T) {
	need(t)
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		askClaude(t)
	})
}

// claudeInteractive is Claude Code with a person at its terminal.
var claudeInteractive = agent{
	name: "claude", wire: "messages",
	configure: func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding": true, "theme": "dark",
			"customApiKeyResponses": {"approved": ["sk-ant-dummy"], "rejected": []},
			"projects": {"`+filepath.Join(filepath.Dir(home), "project")+`": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}`)
		return []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	},
}

func askClaude(t *testing.T) {
	r := newGuarded(t, claudeInteractive, scripted(
		llmtest.Say("One.", llmtest.Shell("touch one")),
		llmtest.Say("Two.", llmtest.Shell("touch two")),
		llmtest.Say("Three.", llmtest.Shell("touch three")),
		llmtest.Say("Four.", llmtest.Write("four", "4\n")),
		llmtest.Say("Five.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("Six.", llmtest.Shell("touch six")),
		llmtest.Say("Seven.", llmtest.Shell("git push origin main")),
		llmtest.Say("Eight.", llmtest.Shell("touch eight")),
		llmtest.Say("All done."),
	))
	write(t, filepath.Join(r.home, ".config/stet/config.toml"), fmt.Sprintf("listen = %q\n\n[[rule]]\ncommands = [\"git push\"]\ndo = \"ask\"\n", r.listen))
	editor := filepath.Join(r.home, "editor")
	write(t, editor, "#!/bin/sh\nprintf 'touch edited' > \"$1\"\n")
	if err := os.Chmod(editor, 0o755); err != nil {
		t.Fatal(err)
	}
	person := openScreen(t, r.repo, append(slices.Clone(r.env), "EDITOR="+editor), []string{os.Getenv(envStet), "approve"})
	claude := openScreen(t, r.repo, r.env, []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", "default"})
	there := func(name string) bool { _, err := os.Stat(filepath.Join(r.repo, name)); return err == nil }
	asked := func(text string) {
		t.Helper()
		waits(t, "a question about "+text, func() bool {
			shown := person.shows()
			at := strings.LastIndex(shown, text)
			return at >= 0 && strings.Contains(shown[at:], "[q]uit >")
		})
		claude.expect("Esc to cancel")
	}

	withdrawn := func() { // the person answered in the agent's dialog
		t.Helper()
		waits(t, "the question is withdrawn", func() bool { return strings.HasSuffix(strings.TrimSpace(person.shows()), "Enter goes on") })
		person.keys("Enter")
	}

	claude.expect("for shortcuts")
	claude.keys("Water the garden")
	claude.keys("Enter")
	asked("claude wants to run touch one")
	person.expect(`about "Water the garden"`)
	person.keys("a")
	claude.expect("Allowed by PermissionRequest hook")
	waits(t, "one is there", func() bool { return there("one") })

	asked("claude wants to run touch two")
	person.keys("r")
	person.expect("a message for the agent?")
	person.keys("ask the gardener first", "Enter")
	claude.expect("Denied by PermissionRequest hook")
	waits(t, "the model reads the words", func() bool { return r.told("ask the gardener first") })

	asked("claude wants to run touch three")
	person.keys("e")
	person.expect("(y/N)")
	person.keys("y")
	waits(t, "the changed command runs", func() bool { return there("edited") })

	asked("claude wants to write four")
	person.expect("+4")
	claude.keys("Enter") // Yes, in the agent's dialog
	waits(t, "four is there", func() bool { return there("four") })
	withdrawn()

	asked("claude wants to write " + bedsFile)
	person.expect("+" + newLevel)
	claude.keys("3") // No
	claude.keys("Enter")
	withdrawn()
	claude.keys("go on", "Enter")

	asked("claude wants to run touch six")
	claude.keys("Enter")
	person.keys("a") // both at once: one counts
	waits(t, "six is there", func() bool { return there("six") })
	waits(t, "it is over", func() bool {
		shown := strings.TrimSpace(person.shows())
		if strings.HasSuffix(shown, "Enter goes on") {
			person.keys("Enter")
		}
		return strings.Contains(shown, "wants to run git push")
	})

	asked("claude wants to run git push origin main")
	person.expect("rule 1")
	person.keys("r")
	person.expect("a message for the agent?")
	person.keys("not today", "Enter")
	waits(t, "the model reads the words", func() bool { return r.told("not today") })

	asked("claude wants to run touch eight")
	r.guard.end(syscall.SIGKILL)
	claude.keys("Enter") // the agent's own dialog goes on
	waits(t, "eight is there", func() bool { return there("eight") })

	exit, trail := r.stet("audit", "--last", "0")
	if exit != 0 {
		t.Error(trail)
	}
	t.Log(trail)
	for _, name := range []string{"two", "three"} {
		if there(name) {
			t.Errorf("%s was denied, and is there", name)
		}
	}
	if git(t, r.repo, "diff", "--stat") != "" {
		t.Error("an edit that was denied in the terminal is there")
	}
}
