package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, changed := g.trail(); len(changed) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no call was recorded; the terminal shows %q", term.shown())
		}
	}
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
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &onTerminal{cmd: exec.Command(args[0], args[1:]...), master: master, done: make(chan struct{})}
	x.cmd.Dir, x.cmd.Env, x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = dir, env, side, side, side
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
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
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(x.end)
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
