package snapshot

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What happens around a call: rules of git that change in it, other file systems, a store that is full or gone, and what is not promised. Nothing that
// was not the call's is lost. (GRD-3, GRD-4)
func TestAround(t *testing.T) {
	mounted := func(t *testing.T, args ...string) {
		t.Helper()
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", args[len(args)-1]).Run() })
	}
	t.Run("ignore rules change", func(t *testing.T) {
		dir := t.TempDir()
		sh(t, dir, "git init -q .; echo one > a.log; echo two > b; git add .; git commit -qm one")
		tree, store := open(t, dir, Options{})
		before := listing(t, dir)
		r := run(t, tree, "echo '*' > .gitignore; echo new > c; rm a.log; echo more > b; echo '*.log' > .gitignore; echo x > d.log")
		after := listing(t, dir)
		did, left := undo(t, tree, store, r.Changes)
		if now := listing(t, dir); now != before || len(left) > 0 {
			t.Errorf("left %v: %s", left, firstDifference(now, before))
		}
		undo(t, tree, store, did)
		if now := listing(t, dir); now != after {
			t.Errorf("redone: %s", firstDifference(now, after))
		}
	})
	t.Run("bind mount", func(t *testing.T) {
		dir, other := t.TempDir(), t.TempDir()
		sh(t, dir, "mkdir m; echo below > m/x; echo one > f")
		write(t, filepath.Join(other, "y"), "other\n")
		mounted(t, "-t", "tmpfs", "-o", "size=1m", "stet", filepath.Join(dir, "m"))
		write(t, filepath.Join(dir, "m", "y"), "other\n")
		tree, store := open(t, dir, Options{})
		r := run(t, tree, "echo changed > m/y; echo two > f")
		undo(t, tree, store, r.Changes)
		if got := sh(t, dir, "cat f m/y"); got != "one\nchanged\n" || len(r.Changes) != 1 { // another file system is not followed: GRD-4
			t.Errorf("%q %v", got, r.Changes)
		}
	})
	t.Run("a file that is mounted", func(t *testing.T) { // it is put back in place: no other file can have its name
		dir, other := t.TempDir(), t.TempDir()
		sh(t, other, "echo one > f")
		sh(t, dir, "echo below > f")
		mounted(t, "--bind", filepath.Join(other, "f"), filepath.Join(dir, "f"))
		tree, store := open(t, dir, Options{NoWatch: true})
		r := run(t, tree, "echo more > f")
		if _, left := undo(t, tree, store, r.Changes); sh(t, dir, "cat f "+other+"/f") != "one\none\n" || len(r.Changes) != 1 {
			t.Error(r.Changes, left)
		}
	})
	t.Run("store is full", func(t *testing.T) {
		dir, kept := t.TempDir(), t.TempDir()
		mounted(t, "-t", "tmpfs", "-o", "size=300k", "stet", kept)
		store, err := OpenStore(filepath.Join(kept, "s"))
		if err != nil {
			t.Fatal(err)
		}
		sh(t, dir, "head -c 100000 /dev/urandom > a; head -c 900000 /dev/urandom > b; echo c > c")
		tree, err := Open(dir, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		<-tree.Ready()
		before := listing(t, dir)
		r := run(t, tree, "rm a b c")
		_, left := undo(t, tree, store, r.Changes)
		now := listing(t, dir)
		for p := range r.Changes { // what is kept comes back whole, and the rest is said
			if back := strings.Contains(now, `"/`+p+`"`); back == (left[p] != Fits) {
				t.Errorf("%s: back %v, said %v", p, back, left[p])
			}
		}
		for line := range strings.Lines(now) {
			if !strings.Contains(before, line) {
				t.Errorf("not as before: %s", line)
			}
		}
	})
	t.Run("store is removed", func(t *testing.T) {
		dir := t.TempDir()
		sh(t, dir, "echo one > a")
		tree, store := open(t, dir, Options{NoGit: true})
		r := run(t, tree, "echo two > a")
		if err := os.RemoveAll(store.dir); err != nil {
			t.Fatal(err)
		}
		if _, left := undo(t, tree, store, r.Changes); len(left) != 1 || sh(t, dir, "cat a") != "two\n" {
			t.Errorf("%v", left)
		}
		r = run(t, tree, "echo three > a") // it is made again
		undo(t, tree, store, r.Changes)
		if got := sh(t, dir, "cat a"); got != "two\n" {
			t.Errorf("after the store was removed: %q", got)
		}
	})
	t.Run("two services", func(t *testing.T) {
		dir := t.TempDir()
		sh(t, dir, "echo one > a; echo one > b")
		first, store := open(t, dir, Options{})
		second, err := Open(dir, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		<-second.Ready()
		r := run(t, first, "echo two > a")
		r2 := run(t, second, "echo three > b")
		undo(t, second, store, r2.Changes)
		undo(t, first, store, r.Changes)
		if got := sh(t, dir, "cat a b"); got != "one\none\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("written while the first snapshot runs", func(t *testing.T) {
		dir := t.TempDir()
		sh(t, dir, "mkdir d; for i in $(seq 300); do echo $i > d/$i; done")
		store, err := OpenStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Open(dir, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		for i := range 300 {
			write(t, filepath.Join(dir, "d", "300"), strings.Repeat("x", i))
		}
		<-tree.Ready()
		before := listing(t, dir)
		r := run(t, tree, "rm -r d")
		if _, left := undo(t, tree, store, r.Changes); listing(t, dir) != before || len(left) > 0 {
			t.Errorf("left %v: %s", left, firstDifference(listing(t, dir), before))
		}
	})
}

// What is replaced by another link, by a file or by a hard link always has something at its name: a kill at any time loses none. (GRD-3)
func TestNamesAreAlwaysThere(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "mkdir l f h; echo x > x; ln x x2; for i in $(seq 60); do ln -s old l/$i; ln -s old f/$i; ln x h/$i; done")
	tree, store := open(t, dir, Options{})
	before := listing(t, dir)
	r := run(t, tree, "for i in $(seq 60); do ln -sfn new l/$i; rm f/$i; echo $i > f/$i; rm h/$i; echo other > h/$i; done")
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan string)
	go func() {
		missing := ""
		for i := 0; ctx.Err() == nil; i++ {
			for _, d := range []string{"l", "f", "h"} {
				name := fmt.Sprintf("%s/%d", d, i%60+1)
				if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
					missing = name
				}
			}
		}
		gone <- missing
	}()
	_, left := undo(t, tree, store, r.Changes)
	stop()
	if name := <-gone; name != "" {
		t.Errorf("%s was missing for a moment", name)
	}
	if now := listing(t, dir); now != before || len(left) > 0 {
		t.Errorf("left %v, got\n%s\nwant\n%s", left, now, before)
	}
}
