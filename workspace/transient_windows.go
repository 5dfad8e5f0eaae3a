package workspace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// sharing reports whether another program, a virus scanner for instance, has
// the file open in a way that forbids replacing it.
func sharing(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// diskFull reports whether the system said, in words of its own, that the disk
// is full.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
