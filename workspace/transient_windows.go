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
