//go:build unix

package mcpclient

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in its own process group. So Ctrl-C at the terminal does not reach the command, and its child
// processes can be ended together with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills the remaining processes of a group.
func endGroup(id int) {
	_ = syscall.Kill(-id, syscall.SIGKILL) // an error usually means that no process remains
}
