//go:build !unix

package main

import "os"

// forwarded are the signals that reach the child through stet.
var forwarded = []os.Signal{os.Interrupt}

// endSignals are those that ask stet to end.
var endSignals = []os.Signal{os.Interrupt}

// sharesTerminal reports whether the terminal sends s to all of its processes.
func sharesTerminal(os.Signal) bool { return isTerminal(os.Stdin) }

// exitStatus is the code of a process that has ended.
func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
