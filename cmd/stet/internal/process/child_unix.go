//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Forwarded are the signals that are forwarded to the child. Stop and continue are not among them: the terminal sends them to both.
var Forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// EndSignals are those that ask the program to end.
var EndSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// sharesTerminal reports whether the terminal sends s to all its foreground processes, including this one. If such a signal were
// forwarded, an agent would get Ctrl-C twice, and many agents quit then.
func sharesTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT && s != syscall.SIGWINCH {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false // this process has no terminal
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == syscall.Getpgrp()
}

// exitStatus is the code of a process that has ended, 128+n if by signal n.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Group makes a program, and everything that it started, end when its context ends.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Apart makes a command's process outlive the signals of the terminal.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Alive reports whether a process runs. A process that has ended stays in the list of processes until its parent has read its exit code; in a
// container there may be no parent that does. On Linux such a process (a zombie) does not count as running.
func Alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z"))
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Users returns the processes of this user, besides this one, that have an address with a port in their environment. They are known on Linux alone.
func Users(address string) (pids []int) {
	whole := regexp.MustCompile(regexp.QuoteMeta(address) + `(\D|$)`)
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, _ := os.ReadFile(file) // other users' processes cannot be read, and some have just ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if whole.Match(environ) && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// HandOver returns a file by which a child process inherits a listener, or nil where that is not possible. Unlike the listener's method
// File, it leaves the listener usable here.
func HandOver(l *net.TCPListener) (*os.File, error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, err
	}
	copied := -1
	if outside := raw.Control(func(fd uintptr) { copied, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); outside != nil {
		return nil, outside
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(copied), "listener"), nil
}
