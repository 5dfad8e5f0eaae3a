package terminal

import (
	"os/exec"
	"syscall"
)

// editorCommandLine returns a command line of cmd that ends with a file.
func editorCommandLine(command, file string) *exec.Cmd {
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + command + ` "` + file + `""`}
	return cmd
}
