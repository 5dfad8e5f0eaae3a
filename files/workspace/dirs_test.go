package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func (tr *tree) has(name string, want bool) {
	tr.t.Helper()
	_, err := os.Lstat(tr.abs(name))
	if is := !errors.Is(err, os.ErrNotExist); is != want {
		tr.t.Errorf("%s is there: %v, want %v", name, is, want)
	}
}

// TestFailedWriteRemovesDirs checks that a failed write removes the directories that it has made, and no others. (FILE-13,
// FILE-14)
func TestFailedWriteRemovesDirs(t *testing.T) {
	tr := newTree(t, Options{})
	wrong := VersionOf([]byte("what was never there"))
	tr.put("a/other", "x")
	for _, name := range []string{"a/b/c/f", "new/f"} {
		_, err := tr.write(name, "text", wrong, WriteMode{CreateDirs: true})
		wantErr(t, name, err, ErrChanged)
	}
	// The walk itself fails early.
	if _, err := tr.write("new/"+strings.Repeat("x", 255)+"/.git/f", "text", "", WriteMode{CreateDirs: true}); err == nil {
		t.Error("a file was made in .git")
	}
	tr.has("a", true)
	tr.has("a/b", false)
	tr.has("new", false)
	// The commit fails because another program makes the file meanwhile. The directories of that file stay.
	tr.seams.pause = func(string) { tr.put("a/b/c/f", "foreign") }
	_, err := tr.write("a/b/c/f", "text", "", WriteMode{CreateDirs: true})
	wantErr(t, "write", err, ErrChanged)
	if got := tr.get("a/b/c/f"); got != "foreign" {
		t.Errorf("the file holds %q", got)
	}
}

// TestDirsOfAWrite checks that a write reports the directories that it has made, and that RemoveDir removes only empty
// ones.
func TestDirsOfAWrite(t *testing.T) {
	tr := newTree(t, Options{})
	for _, c := range []struct {
		name string
		dirs int
	}{{"a/b/f", 2}, {"a/b/g", 0}, {"a/c/d/e/f", 3}, {"h", 0}} {
		if w := tr.mustWrite(c.name, "x", "", WriteMode{CreateDirs: true}); w.Dirs != c.dirs {
			t.Errorf("%s: %d directories made, want %d", c.name, w.Dirs, c.dirs)
		}
	}
	if err := tr.RemoveDir(tr.path("a/b")); err == nil {
		t.Error("a directory that is not empty was removed")
	}
	if err := tr.RemoveDir(tr.path("h")); err == nil {
		t.Error("a file was removed")
	}
	if err := os.Remove(tr.abs("a/c/d/e/f")); err != nil {
		t.Fatal(err)
	}
	if err := tr.RemoveDir(tr.path("a/c/d/e")); err != nil {
		t.Error(err)
	}
	tr.has("a/c/d/e", false)
	tr.has("a/c/d", true)
}
