package agentconfig

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// temporary begins the names of directories that belong to one run of an agent; the number of stet's process follows.
const temporary = "stet-wrap-"

// removeLeft removes from dir what processes of stet left there that were killed. It may hold keys.
func removeLeft(dir string) {
	entries, _ := os.ReadDir(dir) // where it cannot be read, nothing is known to be left
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), temporary)
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); is && err == nil && e.IsDir() && gone(pid) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // another user's stays
		}
	}
}
