//go:build unix

package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A directory of an ended process is removed. A directory of a running process stays, and so do other directories.
func TestRemoveLeft(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	running := fmt.Sprintf("stet-wrap-%d-1", os.Getpid())
	left := fmt.Sprintf("stet-wrap-%d-2", ended.Process.Pid)
	put(t, filepath.Join(dir, running, "providers.json"), "{}")
	put(t, filepath.Join(dir, left, "providers.json"), "{}")
	put(t, filepath.Join(dir, "stet-wrap-mine", "providers.json"), "{}")
	put(t, filepath.Join(dir, left+".txt"), "")
	removeLeft(dir)
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{running, left + ".txt", "stet-wrap-mine"}
	slices.Sort(want)
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
