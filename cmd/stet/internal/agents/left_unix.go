//go:build unix

package agents

import (
	"errors"
	"syscall"
)

// gone reports whether no process has this id.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
