package agents

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// temporary begins the names of directories for one run of an agent. The process id of stet follows.
const temporary = "stet-wrap-"

// removeLeft removes directories in dir that killed stet processes left. They may hold keys.
func removeLeft(dir string) {
	entries, _ := os.ReadDir(dir) // an unreadable directory has no entries
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), temporary)
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); is && err == nil && e.IsDir() && gone(pid) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // another user's directory stays
		}
	}
}

// gone reports whether no process has this id.
func gone(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
