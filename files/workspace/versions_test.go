package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestEveryVersionIsKept is FILE-15: contents that were shown or overwritten can be read again. The kept files are private.
func TestEveryVersionIsKept(t *testing.T) {
	tr := newTree(t, Options{})
	ctx := context.Background()
	tr.put("a", "shown whole")
	tr.put("b", "shown by page\n")
	if _, err := tr.read("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Page(ctx, tr.path("b"), PageRequest{}); err != nil {
		t.Fatal(err)
	}
	tr.put("a", "changed by another")
	w := tr.mustWrite("a", "by stet", VersionOf([]byte("changed by another")), WriteMode{})
	tr.mustWrite("a", "by stet again", w.Now, WriteMode{})
	for _, s := range []string{"shown whole", "shown by page\n", "changed by another", "by stet"} {
		if b, err := tr.Kept(VersionOf([]byte(s))); err != nil || string(b) != s {
			t.Errorf("%q: %q, %v", s, b, err)
		}
	}
	if v, err := keep(tr.Root, "asked for"); err != nil || v != VersionOf([]byte("asked for")) {
		t.Error(v, err)
	}
	for _, v := range []Version{"", "..", VersionOf([]byte("never")), Version(strings.Repeat("../", 22))[:64], "xyz"} {
		_, err := tr.Kept(v)
		wantErr(t, string(v), err, ErrNotFound)
	}
	err := filepath.WalkDir(string(tr.state.stateDir), func(p string, d os.DirEntry, err error) error {
		if err != nil || runtime.GOOS == "windows" {
			return err
		}
		if fi, err := d.Info(); err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", p, fi.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A damaged kept copy is not returned, and is replaced by the next keep.
func TestDamagedVersion(t *testing.T) {
	tr := newTree(t, Options{})
	v, err := keep(tr.Root, "content")
	if err != nil {
		t.Fatal(err)
	}
	file, _ := tr.state.versions.file(v)
	if err := os.WriteFile(file, []byte("cont"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = tr.Kept(v)
	wantErr(t, "damaged", err, ErrNotFound)
	tr.state.versions.forget()
	if _, err := keep(tr.Root, "content"); err != nil {
		t.Fatal(err)
	}
	if b, err := tr.Kept(v); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestPruning checks the limits of size and age of kept versions and backups. The oldest are removed first. (FILE-15,
// FILE-17)
func TestPruning(t *testing.T) {
	tr := newTree(t, Options{KeepBytes: 100_000, KeepAge: time.Hour})
	var versions []Version
	for i := range 30 {
		v, err := keep(tr.Root, fmt.Sprintf("%10000d", i))
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
		file, _ := tr.state.versions.file(v)
		at := time.Now().Add(-time.Duration(30-i) * time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	old, err := keep(tr.Root, "old")
	if err != nil {
		t.Fatal(err)
	}
	file, _ := tr.state.versions.file(old)
	at := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	tr.put("f", strings.Repeat("x", 60_000))
	was := VersionOf([]byte(tr.get("f")))
	var backups []string
	for i := range 3 {
		w := tr.mustWrite("f", strings.Repeat(fmt.Sprint(i), 60_000), was, WriteMode{Backup: true})
		was, backups = w.Now, append(backups, w.Backup)
		at := time.Now().Add(-time.Duration(10-i) * time.Second)
		_ = os.Chtimes(w.Backup, at, at)
	}
	tr.state.versions.pruning.Wait()
	tr.state.versions.prune(false)
	var total int64
	err = filepath.WalkDir(tr.state.path("kept"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fi, _ := d.Info()
			total += fi.Size()
		}
		return err
	})
	if err != nil || total > 100_000 {
		t.Errorf("%d bytes are kept, %v", total, err)
	}
	if _, err := tr.Kept(old); !errors.Is(err, ErrNotFound) {
		t.Error("what is past its age is kept")
	}
	if _, err := tr.Kept(versions[0]); !errors.Is(err, ErrNotFound) {
		t.Error("the oldest is kept")
	}
	if _, err := os.Stat(backups[2]); err != nil {
		t.Error("the newest backup is gone")
	}
	if _, err := os.Stat(backups[0]); err == nil {
		t.Error("the oldest backup is there")
	}
}

// TestStagedParts is FILE-9.
func TestStagedParts(t *testing.T) {
	tr := newTree(t, Options{WriteLimit: 10, PartsLimit: 1000})
	ctx := context.Background()
	stage := func(name string) *Staged {
		t.Helper()
		s, err := tr.Stage(tr.path(name))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := stage("f")
	want := ""
	for i := range 10 {
		part := strings.Repeat(fmt.Sprint(i), 50)
		want += part
		if _, err := s.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(tr.abs("f")); err == nil {
			t.Fatal("there before the commit")
		}
	}
	if b, err := s.Bytes(); err != nil || string(b) != want || s.Size() != 500 || s.Version() != VersionOf(b) {
		t.Errorf("%d bytes, %v", s.Size(), err)
	}
	w, err := s.Commit(ctx, "", WriteMode{})
	if err != nil || w.Now != VersionOf([]byte(want)) || tr.get("f") != want {
		t.Errorf("%+v, %v", w, err)
	}
	if err := errors.Join(s.Abort(), s.Abort()); err != nil {
		t.Error(err)
	}
	_, err = s.Write([]byte("x"))
	wantErr(t, "after the end", err, os.ErrClosed)

	// The limit is checked with each part. After an error nothing is committed.
	s = stage("g")
	_, err = s.Write(make([]byte, 990))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Write(make([]byte, 11))
	wantErr(t, "too much", err, ErrTooLarge)
	_, err = s.Commit(ctx, "", WriteMode{})
	wantErr(t, "commit", err, ErrTooLarge)
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
	// A commit with a version that the file does not have.
	s = stage("f")
	_, err = s.Commit(ctx, "", WriteMode{})
	wantErr(t, "commit", err, ErrChanged)
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(tr.state.path("staged"))
	if len(left) > 0 || tr.get("f") != want {
		t.Errorf("left: %v", left)
	}
}

// TestRetention checks the defaults. Kept versions stay for 30 days, and only the newest 512 MB of them stay. The same
// limits apply to backups. Ages are measured by the time that the clock had shown a day before. (FILE-12, FILE-15)
func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	type file struct {
		mb   int64
		age  time.Duration
		stay bool
	}
	for _, c := range []struct {
		what  string
		files map[string]file
	}{
		{"age", map[string]file{"young": {1, 30*day - time.Hour, true}, "old": {1, 31*day + time.Hour, false}}},
		{"size", map[string]file{"newest": {500, time.Hour, true}, "older": {12, 2 * time.Hour, true}, "oldest": {1, 3 * time.Hour, false}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr := newTree(t, Options{})
			for _, dir := range []string{"kept", "backups"} {
				for name, f := range c.files {
					file := tr.state.path(dir, name)
					at := time.Now().Add(-f.age)
					// The file has the size, but takes no space on the disk.
					if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, f.mb*mb), os.Chtimes(file, at, at)); err != nil {
						t.Fatal(err)
					}
				}
			}
			yesterday := clockTimes{shown: time.Now().Add(-trustAfter)}
			if err := os.WriteFile(tr.state.path("kept", "pruned"), []byte(yesterday.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			tr.state.versions.prune(false)
			for _, dir := range []string{"kept", "backups"} {
				for name, f := range c.files {
					if _, err := os.Stat(tr.state.path(dir, name)); (err == nil) != f.stay {
						t.Errorf("%s/%s of %d MB and %v: %v, want it to stay: %v", dir, name, f.mb, f.age, err, f.stay)
					}
				}
			}
		})
	}
}
