package workspace

import (
	"errors"
	"syscall"
)

// temporary reports whether the same call may succeed a moment later.
func temporary(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	for _, e := range []syscall.Errno{syscall.EAGAIN, syscall.EBUSY, syscall.EINTR, syscall.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return sharingViolation(err)
}
