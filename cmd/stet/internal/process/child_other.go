//go:build !unix

package process

import (
	"net"
	"os"
	"os/exec"

	"github.com/charmbracelet/x/term"
)

// Forwarded are the signals that reach the child through us.
var Forwarded = []os.Signal{os.Interrupt}

// EndSignals are those that ask the program to end.
var EndSignals = []os.Signal{os.Interrupt}

// sharesTerminal reports whether the terminal sends s to all of its processes.
func sharesTerminal(os.Signal) bool { return term.IsTerminal(os.Stdin.Fd()) }

// exitStatus is the code of a process that has ended.
func exitStatus(state *os.ProcessState) int { return state.ExitCode() }

// Group makes a program end when its context ends. What it started may go on.
func Group(*exec.Cmd) {}

// Apart does nothing here.
func Apart(*exec.Cmd) {}

// Alive reports whether a process exists. It is not known here.
func Alive(int) bool { return false }

// Users returns the processes that have a text in their environment. They are not known here.
func Users(string) []int { return nil }

// HandOver returns a file by which a child process inherits a listener, or nil where that is not possible.
func HandOver(*net.TCPListener) (*os.File, error) { return nil, nil }
