package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalRig is a terminal that does not answer queries, and has no columns.
type terminalRig struct {
	keyboard *os.File
	side     *os.File // the programs' end
	mu       sync.Mutex
	shown    bytes.Buffer
	drained  chan struct{}
}

func openTerminal(t *testing.T) *terminalRig {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	raw, err := master.SyscallConn() // Fd would make reads block, even after a close
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var ioctlErr error
	err = raw.Control(func(fd uintptr) {
		if ioctlErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); ioctlErr == nil {
			n, ioctlErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err := errors.Join(err, ioctlErr); err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminalRig{keyboard: master, side: side, drained: make(chan struct{})}
	go func() {
		defer close(term.drained)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			term.mu.Lock()
			term.shown.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = side.Close()
		_ = master.Close()
		<-term.drained
	})
	return term
}

// start starts a program on the terminal, in a new session.
func (term *terminalRig) start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	home := t.TempDir()
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.side, term.side, term.side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test failed early
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	})
	return cmd
}

// text returns the output until the programs ended.
func (term *terminalRig) text() string {
	_ = term.side.Close() // the last open end: reading ends after all output
	<-term.drained
	return term.shown.String()
}

// Programs do not query the terminal for its colours: they would wait for the answer, and typed input would be lost meanwhile.
func TestTerminalIsNotAsked(t *testing.T) {
	for _, args := range [][]string{
		{"wrap", "--", "sh", "-c", "exit 3"}, {"wrpa"}, {"--help"}, {"help", "wrap"}, {"savings", "--policy", "none"},
	} {
		term := openTerminal(t)
		_ = term.start(t, "stet", args...).Wait()
		shown := term.text()
		if shown == "" || strings.Contains(shown, "\x1b]") || strings.Contains(shown, "\x1b[c") {
			t.Errorf("stet %s shows %q", strings.Join(args, " "), shown)
		}
	}
}

// A terminal without columns also gets a report.
func TestTerminalWithoutColumns(t *testing.T) {
	term := openTerminal(t)
	if err := term.start(t, "stet", "savings").Wait(); err != nil || !strings.Contains(term.text(), "nothing to save") {
		t.Errorf("%v: %q", err, term.shown.String())
	}
}

// The terminal sends Ctrl-C to the agent, so stet does not, even if stet's standard input is a pipe. The agent here is not in the
// terminal's process group, so it receives signals only from stet. Another program shows when the terminal has sent the signal.
func TestTerminalInterruptsOnce(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	for _, command := range []string{"stet wrap -- setsid counter agent", "echo x | stet wrap -- setsid counter agent"} {
		term := openTerminal(t)
		cmd := term.start(t, "sh", "-c", "trap : INT; counter other & "+command+"; wait")
		heard := func(name string) string {
			b, _ := os.ReadFile(filepath.Join(cmd.Dir, name))
			return string(b)
		}
		waitFor(t, func() bool { return strings.HasSuffix(heard("agent"), "\n") && strings.HasSuffix(heard("other"), "\n") })
		if _, err := io.WriteString(term.keyboard, "\x03"); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return strings.Contains(heard("other"), "interrupt") })
		for _, name := range []string{"agent", "other"} { // signals that stet forwards come after an interrupt
			var pid, parent int
			if _, err := fmt.Sscan(heard(name), &pid, &parent); err != nil {
				t.Fatal(err)
			}
			if name == "agent" {
				pid = parent
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		if said := heard("agent"); strings.Contains(said, "interrupt") || !strings.Contains(said, "terminated") {
			t.Errorf("%s: the agent heard %q", command, said)
		}
	}
}
