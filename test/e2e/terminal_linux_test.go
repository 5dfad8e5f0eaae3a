package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stet-dev/stet/llm/llmtest"
)

// Claude Code in a terminal: the person sees nothing of the guard, and what was done is taken back. (GRD-3)
func TestGuardInteractive(t *testing.T) {
	need(t)
	g := newGuarded(t, guardedClaude(), scripted(llmtest.Say("I remove it.", llmtest.Shell(removes)), llmtest.Say("Done.")))
	write(t, filepath.Join(g.home, ".claude.json"), fmt.Sprintf(
		`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-ant-dummy"]}, "projects": {%q: {"hasTrustDialogAccepted": true, "allowedTools": []}}}`, g.repo))
	command := g.a.command(g.home, "Clean up.", false)
	n := len(command) - 2 // the prompt comes first, and without -p
	command = slices.Insert(command[:n], 1, "Clean up.", "--permission-mode", "manual")
	term := startOnTerminal(t, g.repo, append(g.env, "TERM=xterm-256color"), command)
	waits(t, "a call is recorded", func() bool {
		_, changed := g.trail()
		return len(changed) == 1
	})
	term.end()
	g.undoAll(1)
}

// onTerminal is a program in a terminal of its own.
type onTerminal struct {
	cmd    *exec.Cmd
	master *os.File
	done   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func startOnTerminal(t *testing.T, dir string, env, args []string) *onTerminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx") // which can be closed while it is read
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &onTerminal{cmd: exec.Command(args[0], args[1:]...), master: master, done: make(chan struct{})}
	x.cmd.Dir, x.cmd.Env, x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = dir, env, side, side, side
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	// These tests may run where a hangup is ignored (nohup). A program would inherit that, but not from one that receives the signal.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = side.Close()
	go func() {
		defer close(x.done)
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			x.mu.Lock()
			x.out.Write(b[:n])
			x.mu.Unlock()
			for asked, answer := range map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62c"} { // where the cursor is, and what terminal this is
				if bytes.Contains(b[:n], []byte(asked)) {
					_, _ = master.WriteString(answer)
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if x.end(); t.Failed() {
			t.Logf("the terminal shows %q", x.shown())
		}
	})
	return x
}

func (x *onTerminal) shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// end ends the program and all that it started. A second call does nothing.
func (x *onTerminal) end() {
	if x.cmd.ProcessState != nil {
		return
	}
	_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL)
	_ = x.cmd.Wait()
	<-x.done
	_ = x.master.Close()
}

// A person leaves an agent in a terminal by Ctrl-C, or closes the terminal: the agent ends as without stet, and nothing stays, no process and no
// file. (SAME-1, SAME-2)
func TestTerminalEnds(t *testing.T) {
	need(t)
	ends := []struct {
		name  string
		leave func(*onTerminal)
		codes []int // an agent's own choice, without stet too: its end, or the signal's
	}{
		{"ctrl-c", (*onTerminal).interrupt, []int{0, 128 + int(syscall.SIGINT)}},
		{"closed", func(x *onTerminal) { _ = x.master.Close() }, []int{0, 128 + int(syscall.SIGHUP)}},
	}
	for _, a := range []agent{inTerminal(claudeCode("2.1.332")), inTerminal(codex)} {
		for _, end := range ends {
			t.Run(a.name+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				for way, through := range map[string]route{"base URL": wrapWith("--via", "base-url"), "forward proxy": connected(a)} {
					if code, stays := endOnTerminal(t, a, through, end.leave); !slices.Contains(end.codes, code) || stays != "" {
						t.Errorf("%s: exit code %d, want one of %v; these stay: %q", way, code, end.codes, stays)
					}
				}
			})
		}
	}
}

// inTerminal is an agent whose command line opens its own interface.
func inTerminal(a agent) agent {
	configure := a.configure
	a.configure = func(t *testing.T, home, base string) []string {
		repo := filepath.Join(filepath.Dir(home), "project")
		if a.name == "claude" {
			write(t, filepath.Join(home, ".claude.json"), fmt.Sprintf(
				`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-ant-dummy"]}, "projects": {%q: {"hasTrustDialogAccepted": true, "allowedTools": []}}}`, repo))
		}
		env := append(configure(t, home, base), "TERM=xterm-256color", "TMPDIR="+filepath.Join(home, "tmp"))
		if a.name == "codex" {
			settings := filepath.Join(home, ".codex", "config.toml")
			write(t, settings, read(t, home, ".codex/config.toml")+fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", repo))
		}
		return env
	}
	a.command = func(_, prompt string, _ bool) []string {
		if a.name == "claude" {
			return []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--model", bound, prompt}
		}
		return []string{"codex", "--dangerously-bypass-approvals-and-sandbox", "--model", "scripted", prompt} // it asks about models that have a successor
	}
	return a
}

// endOnTerminal starts an agent in a terminal, and leaves it when its model has answered. It returns the exit code, and what stays: processes,
// and files of stet among the temporary ones.
func endOnTerminal(t *testing.T, a agent, through route, leave func(*onTerminal)) (code int, left string) {
	t.Helper()
	home, repo := places(t, a)
	if err := os.MkdirAll(filepath.Join(home, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	model, err := llmtest.Start(llmtest.Config{Script: llmtest.Script{Root: repo, Turns: []llmtest.Turn{llmtest.Say("I answered the question.")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	base, before := through(t, home, model.URL)
	x := startOnTerminal(t, repo, append(environment(home), a.configure(t, home, base)...), append(before, a.command(home, "What is here?", false)...))
	waited := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s behind %v; its processes are %q, and the terminal shows %q", what, before, processesOf(home), x.shown())
			}
		}
	}
	waited("the agent shows no answer", func() bool {
		return strings.Contains(x.shown(), "answered") && (a.name != "codex" || strings.Contains(x.shown(), "state=done"))
	})
	leave(x)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = x.cmd.Wait() // its exit code says more
	}()
	waited("the agent does not end", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	code = x.cmd.ProcessState.ExitCode()
	if status, ok := x.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as a shell says it
	}
	for range 400 { // what ends by itself may do so
		if left = strings.Join(processesOf(home), " "); left == "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	files, _ := filepath.Glob(filepath.Join(home, "tmp", "stet-*"))
	return code, left + strings.Join(files, " ")
}

// processesOf returns the names of the processes that have this home.
func processesOf(home string) (names []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, _ := os.ReadFile(file) // it may have ended
		if bytes.Contains(environ, []byte("HOME="+home+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

// interrupt types Ctrl-C until the program has ended: some ask for a second one.
func (x *onTerminal) interrupt() {
	for range 20 {
		if _, err := x.master.WriteString("\x03"); err != nil {
			return
		}
		select {
		case <-x.done:
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
}
