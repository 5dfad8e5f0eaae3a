package tui

import "golang.org/x/sys/unix"

// The calls that get and set the mode of a terminal; setModeDrop also drops what was
// typed.
const (
	getMode     = unix.TCGETS
	setMode     = unix.TCSETSW
	setModeDrop = unix.TCSETSF
)
