package tui

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds that was not read yet. Other files are left
// alone.
func flush(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // no terminal: nothing to drop
}
