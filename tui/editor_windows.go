package tui

import (
	"os/exec"
	"syscall"
)

// editorCommandLine runs a command of the shell on a file.
func editorCommandLine(command, file string) *exec.Cmd {
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + command + ` "` + file + `""`}
	return cmd
}
