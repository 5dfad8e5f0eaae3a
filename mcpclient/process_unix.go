//go:build unix

package mcpclient

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own: a Ctrl-C is not for
// it, and what it starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills what is left of a group.
func endGroup(id int) {
	_ = syscall.Kill(-id, syscall.SIGKILL) // mostly nothing is
}
