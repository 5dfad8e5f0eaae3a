//go:build !windows

package tui

import "os/exec"

// editorCommandLine runs a command of the shell on a file.
func editorCommandLine(command, file string) *exec.Cmd {
	return exec.Command("sh", "-c", command+` "$1"`, "sh", file)
}
