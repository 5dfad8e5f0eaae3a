//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

// The requests that get and set the mode of a terminal. setModeDrop also drops typed input.
const (
	getMode     = unix.TIOCGETA
	setMode     = unix.TIOCSETAW
	setModeDrop = unix.TIOCSETAF
)
