package agents

import (
	"os"
	"path/filepath"
	"testing"
)

// A directory of a run that has ended without removing it is removed. That of a run that goes on stays, in whichever container it is, and so do
// other directories.
func TestRemoveLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	running, remove, err := makeTemporary()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "stet-wrap-1", lockName), "")
	put(t, filepath.Join(dir, "stet-wrap-1", "providers.json"), "{}")
	put(t, filepath.Join(dir, "stet-wrap-mine", "providers.json"), "{}")
	put(t, filepath.Join(dir, "stet-wrap-2.txt"), "")
	for range 2 {
		removeLeft(dir)
		for name, stays := range map[string]bool{filepath.Base(running): true, "stet-wrap-1": false, "stet-wrap-mine": true, "stet-wrap-2.txt": true} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
				t.Error(name, err)
			}
		}
	}
	if remove(); exists(running) {
		t.Error("it is still there")
	}
}
