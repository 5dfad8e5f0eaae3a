package agents

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
