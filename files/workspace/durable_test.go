package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What Write, Remove and RemoveDir acknowledge is durable: the new content is synced before it gets its name, and the directory
// after that. After a sync that fails, nothing is acknowledged. (FILE-14)
func TestSyncs(t *testing.T) {
	tr := newTree(t, Options{})
	var calls []string
	fault := ""
	tr.Root.dir.OnSync(func(f *os.File) error {
		what := "file"
		if st, err := f.Stat(); err != nil {
			return err
		} else if st.IsDir() {
			what = "dir"
		}
		for _, name := range []string{"f", "a/b/f", "a"} { // what is in place at that time
			if data, err := os.ReadFile(filepath.Join(tr.dir, name)); err == nil {
				what += " " + name + "=" + string(data)
			}
		}
		if calls = append(calls, what); strings.HasPrefix(what, fault) && fault != "" {
			return errors.New("no sync")
		}
		return f.Sync()
	})
	want := func(what string, err error, syncs ...string) {
		t.Helper()
		if (err != nil) != (fault != "") || !slices.Equal(calls, syncs) {
			t.Errorf("%s: %v, syncs %q, want %q", what, err, calls, syncs)
		}
		calls = nil
	}
	w, err := tr.write("f", "1", "", WriteMode{})
	want("create", err, "file", "dir f=1")
	w, err = tr.write("f", "2", w.Now, WriteMode{})
	want("replace", err, "file f=1", "dir f=2")
	fault = "file"
	_, err = tr.write("f", "3", w.Now, WriteMode{})
	want("a file that is not synced", err, "file f=2")
	if tr.get("f") != "2" {
		t.Errorf("it holds %q", tr.get("f"))
	}
	tr.noTempFiles()
	fault = "dir"
	_, err = tr.write("f", "4", w.Now, WriteMode{})
	want("a directory that is not synced", err, "file f=2", "dir f=4")
	fault = ""
	_, err = tr.Remove(t.Context(), tr.path("f"), VersionOf([]byte("4")), WriteMode{})
	want("remove", err, "dir")
	w, err = tr.write("a/b/f", "1", "", WriteMode{CreateDirs: true})
	want("with directories", err, "dir", "dir", "file", "dir a/b/f=1")
	_, err = tr.Remove(t.Context(), tr.path("a/b/f"), w.Now, WriteMode{})
	want("remove again", err, "dir")
	want("remove a directory", tr.RemoveDir(tr.path("a/b")), "dir")
}

// The age of a kept version begins again when it is used: when the file that has it is shown again, and when a write displaces a
// file that was changed long ago. (FILE-15)
func TestKeptAgeIsRenewed(t *testing.T) {
	tr := newTree(t, Options{})
	old := time.Now().Add(-29 * 24 * time.Hour)
	fresh := func(what string, v Version) {
		t.Helper()
		tr.state.versions.pruning.Wait()
		file, _ := tr.state.versions.file(v)
		if fi, err := os.Stat(file); err != nil || time.Since(fi.ModTime()) > time.Hour {
			t.Errorf("%s: %v, %v", what, fi, err)
		}
	}
	tr.put("f", "1\n")
	if _, err := tr.read("f"); err != nil {
		t.Fatal(err)
	}
	v := VersionOf([]byte("1\n"))
	tr.state.versions.pruning.Wait()
	file, _ := tr.state.versions.file(v)
	if err := errors.Join(os.Chtimes(file, old, old), os.Chtimes(tr.abs("f"), old, old)); err != nil {
		t.Fatal(err)
	}
	tr.state.versions.forget() // as another process, or after a pruning
	if _, err := tr.read("f"); err != nil {
		t.Fatal(err)
	}
	fresh("shown again", v)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	tr.mustWrite("f", "2\n", v, WriteMode{})
	fresh("displaced", v)
}
