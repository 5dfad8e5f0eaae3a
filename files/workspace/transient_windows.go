package workspace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// sharingViolation reports whether another program, for example a virus scanner, has opened the file in a way that prevents
// replacing it.
func sharingViolation(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// diskFull reports whether err is an error of Windows for a full disk.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
