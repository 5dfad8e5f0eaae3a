//go:build unix

package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret = "SECRET-OUTSIDE"

// TestLinksThatLeave covers the hazard of symbolic links out of the workspace: no operation reads, writes or makes anything
// outside. (FILE-7)
func TestLinksThatLeave(t *testing.T) {
	tr := newTree(t, Options{})
	if err := os.WriteFile(filepath.Join(tr.out, "file"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	tr.put("in/x", "x")
	tr.link(filepath.Join(tr.out, "file"), "file")
	tr.link("../outside/file", "relative")
	tr.link(tr.out, "dir")
	tr.link("dir", "chain")
	tr.link("../chain", "in/chain2")
	tr.link(filepath.Join(tr.out, "new"), "dangling")
	tr.link("/proc/self/root"+tr.out, "proc")
	tr.link("/proc/self/cwd", "cwd")
	tr.link("/proc/self/fd", "fds")
	tr.link("loop", "loop")
	tr.link(tr.dir+"/../outside", "sneaky")
	paths := []string{
		"file", "relative", "dir/file", "dir/new", "chain/file", "in/chain2/file", "dangling", "dangling/", "dir/", "dir/.",
		"proc/file", "cwd/path_test.go", "fds/0", "loop", "loop/x", "sneaky/file", "dir/sub/deep",
	}
	ctx := context.Background()
	for _, s := range paths {
		p := tr.path(s)
		if c, err := tr.ReadAll(ctx, p); err == nil || strings.Contains(err.Error(), tr.out) {
			t.Errorf("read %s: %q, %v", s, c.Data, err)
		} else {
			wantErr(t, "read "+s, err, ErrPath)
		}
		_, err := tr.Page(ctx, p, PageRequest{})
		wantErr(t, "page "+s, err, ErrPath)
		_, err = tr.Inspect(p)
		wantErr(t, "stat "+s, err, ErrPath)
		_, err = tr.Write(ctx, p, []byte("x"), "", WriteMode{CreateDirs: true})
		wantErr(t, "write "+s, err, ErrPath)
		_, err = tr.Write(ctx, p, []byte("x"), VersionOf([]byte(secret)), WriteMode{})
		wantErr(t, "overwrite "+s, err, ErrPath)
		_, err = tr.Remove(ctx, p, VersionOf([]byte(secret)), WriteMode{})
		wantErr(t, "remove "+s, err, ErrPath)
		_, err = list(tr, p, ListOptions{})
		wantErr(t, "list "+s, err, ErrPath)
	}
	tr.outsideHas("file")
	// A walk shows links and follows none of them.
	err := tr.Walk(ctx, tr.path("."), ListOptions{}, func(e Entry) error {
		if strings.Contains(e.Path.String(), "dir/") || e.Path.String() == "dir" && e.Kind != Link {
			t.Errorf("walked into %v", e)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// outsideHas checks that nothing outside was changed or made.
func (tr *tree) outsideHas(names ...string) {
	tr.t.Helper()
	entries, err := os.ReadDir(tr.out)
	if err != nil {
		tr.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		tr.t.Errorf("outside there is %v", got)
	}
	for _, n := range names {
		if b, _ := os.ReadFile(filepath.Join(tr.out, n)); string(b) != secret {
			tr.t.Errorf("outside %s was changed: %q", n, b)
		}
	}
}

// Links that stay inside work, also absolute ones. The file at their end is written. (FILE-14)
func TestLinksThatStay(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("real/f.txt", "one")
	tr.link("real/f.txt", "rel")
	tr.link(tr.abs("real/f.txt"), "abs")
	tr.link(tr.abs("real"), "absdir")
	tr.link("../real", "real/up")
	tr.link(tr.dir, "root")
	tr.link("real/made.txt", "dangling")
	tr.link(tr.dir+"/absdir/../real", "zigzag")
	was := VersionOf([]byte("one"))
	for i, s := range []string{"rel", "abs", "absdir/f.txt", "real/up/f.txt", "root/real/f.txt", "root/root/abs", "zigzag/f.txt"} {
		if got, err := tr.read(s); err != nil || VersionOf([]byte(got)) != was {
			t.Errorf("read %s: %q, %v", s, got, err)
		}
		info, err := tr.Inspect(tr.path(s))
		if err != nil || info.Path.String() != "real/f.txt" {
			t.Errorf("stat %s: %v, %v", s, info.Path, err) // READ-5
		}
		w := tr.mustWrite(s, strings.Repeat("x", i+1), was, WriteMode{})
		if w.Path.String() != "real/f.txt" {
			t.Errorf("write %s: wrote %s", s, w.Path)
		}
		was = w.Now
	}
	w := tr.mustWrite("dangling", "made", "", WriteMode{})
	if w.Path.String() != "real/made.txt" || tr.get("real/made.txt") != "made" {
		t.Errorf("wrote %s", w.Path)
	}
	for _, l := range []string{"rel", "abs", "dangling"} {
		if fi, err := os.Lstat(tr.abs(l)); err != nil || fi.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
}

// TestRootByDescriptor checks that a directory that gets the name of the opened directory is neither read nor written.
func TestRootByDescriptor(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", "mine")
	if err := os.Rename(tr.dir, tr.dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tr.out, tr.dir); err != nil {
		t.Fatal(err)
	}
	_, err := tr.read("f")
	wantErr(t, "read", err, ErrRootGone)
	_, err = tr.write("new", "x", "", WriteMode{})
	wantErr(t, "write", err, ErrRootGone)
	tr.outsideHas()
}
