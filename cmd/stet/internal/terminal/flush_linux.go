package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops the input of a terminal that was not read yet. It does nothing for other files.
func flush(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // an error means that f is not a terminal
}
