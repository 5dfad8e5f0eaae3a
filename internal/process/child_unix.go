//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Forwarded are the signals that reach the child through us. Stopping and
// continuing are left to the terminal: both stop.
var Forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// EndSignals are those that ask the program to end.
var EndSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// sharesTerminal reports whether s is a signal that the terminal sends to all
// of its foreground processes, and we are among these. Sent on, an agent
// would see Ctrl-C twice, which for many of them means to quit.
func sharesTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT && s != syscall.SIGWINCH {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false // we have no terminal
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
