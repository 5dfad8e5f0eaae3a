package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// nextData returns the offset at or after off at which data begins in a sparse file. If only a hole follows, it returns
// size. It changes the file's offset.
func nextData(f *os.File, off, size int64) int64 {
	c, err := f.SyscallConn()
	if err != nil {
		return off
	}
	at := off
	err = c.Control(func(fd uintptr) {
		n, err := unix.Seek(int(fd), off, unix.SEEK_DATA)
		switch err {
		case nil:
			at = n
		case unix.ENXIO:
			at = size
		}
	})
	if err != nil || at < off {
		return off
	}
	return at
}
