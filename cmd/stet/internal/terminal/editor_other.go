//go:build !windows

package terminal

import "os/exec"

// editorCommandLine returns a shell command line that ends with a file.
func editorCommandLine(command, file string) *exec.Cmd {
	return exec.Command("sh", "-c", command+` "$1"`, "sh", file)
}
