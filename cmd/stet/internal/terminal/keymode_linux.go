package terminal

import "golang.org/x/sys/unix"

// The requests that get and set the mode of a terminal. setModeDrop also drops typed input.
const (
	getMode     = unix.TCGETS
	setMode     = unix.TCSETSW
	setModeDrop = unix.TCSETSF
)
