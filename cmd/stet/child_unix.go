//go:build unix

package main

import (
	"os"
	"syscall"
)

// forwarded are the signals that reach the child through stet. Stopping and
// continuing are left to the terminal: both stop.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// endSignals are those that ask stet to end.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// sharesTerminal reports whether the terminal sends s to all of its
// foreground processes. Sent on, an agent would see Ctrl-C twice, which for
// many of them means to quit.
func (p *program) sharesTerminal(s os.Signal) bool {
	return (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH) && isTerminal(p.in)
}

// exitStatus is the code of a process that has ended, 128+n if by signal n.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
