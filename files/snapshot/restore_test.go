package snapshot

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// back prepares the undo of changes, lets a person do something, and applies it.
func back(t *testing.T, tree *Tree, store *Store, cs Changes, person func()) (did Changes, r *Restoration, err error) {
	t.Helper()
	r, err = Prepare(t.Context(), tree.Dir, store, cs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	person()
	did, err = r.Apply(t.Context(), func(s Step) bool { return s.Why == Fits })
	return did, r, err
}

// A file whose content is not kept, because it is large or in a directory that is only listed, is moved back, gets its mode back, and is
// never removed where it may be the only copy. (GRD-3)
func TestMovedWithoutContent(t *testing.T) {
	for _, c := range []struct {
		script string
		back   bool // all is put back
	}{
		{"mv big moved", true}, {"mv node_modules nm2", true}, {"mkdir d; mv big d/e; mv node_modules d/", true},
		{"chmod 600 big; chmod -R go-rwx node_modules", true}, {"mv big moved; chmod 600 moved", true},
		{"mv node_modules nm2; echo x > node_modules", true}, {"mkdir d; mv big d/e; rm -r .gitignore; mv d .gitignore", true},
		{"cp big copy; rm big", false}, {"cp -p big copy; rm big", false},
	} {
		t.Run(c.script, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, ".gitignore"), "node_modules\n")
			write(t, filepath.Join(dir, "node_modules/m/index.js"), "x\n")
			write(t, filepath.Join(dir, "node_modules/m/other.js"), "y\n")
			sh(t, dir, "truncate -s 129M big; chmod 640 big node_modules/m/other.js")
			tree, store := open(t, dir, Options{})
			look := func() string {
				return sh(t, dir, "find . -printf '%p %m %s %l\\n' | grep -v '^. '| sort; cat $(find . -name '*.js' | sort)")
			}
			before := look()
			r := run(t, tree, c.script)
			after := look()
			did, left := undo(t, tree, store, r.Changes)
			if got := look(); c.back && (got != before || len(left) > 0) {
				t.Errorf("got %s\nwant %s\nleft %v", got, before, left)
			} else if !c.back && got != after {
				t.Errorf("got %s\nwant as the command left it: %s", got, after)
			}
			undo(t, tree, store, did)
			if got := look(); got != after {
				t.Errorf("redone: %s\nwant %s", got, after)
			}
			if _, left := undo(t, tree, store, r.Changes); c.back && (look() != before || len(left) > 0) {
				t.Errorf("undone again: %s, %v", look(), left)
			}
			for p, why := range func() map[string]Why { _, left := undo(t, tree, store, r.Changes); return left }() {
				if c.back && why != Done { // as after an undo that was killed
					t.Errorf("a second undo: %s: %v", p, why)
				}
			}
		})
	}
}

// What somebody does while the person is asked, is not overwritten or removed. (GRD-3)
func TestChangedWhileAsked(t *testing.T) {
	for _, c := range []struct{ script, person, path string }{
		{"rm a", "echo new > a", "a"}, {"ln -s x l", "rm l; echo mine > l", "l"}, {"rm a; ln -s x a", "rm a; echo mine > a", "a"}, {"rm a", "mkdir a; echo x > a/b", "a/b"},
		{"truncate -s 129M c", "truncate -s 0 c; truncate -s 129M c; printf x >> c; truncate -s 129M c; printf mine | dd of=c conv=notrunc", "c"},
		{"echo x >> a", "ln -sf /nowhere a", "a"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), "a\n")
		tree, store := open(t, dir, Options{})
		r := run(t, tree, c.script)
		var edited string
		look := func() string {
			return sh(t, dir, "ls -l --time-style=+ "+c.path+"; head -c 100 "+c.path+" 2>/dev/null || true")
		}
		did, _, err := back(t, tree, store, r.Changes, func() { sh(t, dir, c.person); edited = look() })
		if err == nil || len(did) > 0 || look() != edited {
			t.Errorf("%s, %s: %v, did %v, now %s", c.script, c.person, err, did, look())
		}
	}
}

// The number of an inode is used again: two files that never were one are put back as two.
func TestInodeUsedAgain(t *testing.T) {
	dir := t.TempDir()
	tree, store := open(t, dir, Options{})
	cs := Changes{}
	for _, name := range []string{"a", "b"} {
		sum, err := store.Put([]byte(name))
		if err != nil {
			t.Fatal(err)
		}
		cs[name] = Change{name, &Node{Mode: 0o644, Size: 1, Sum: sum, Same: "77"}, nil}
	}
	undo(t, tree, store, cs)
	if got := sh(t, dir, "cat a b"); got != "ab" {
		t.Errorf("got %q", got)
	}
}

// A directory into which somebody else has put a file stays, and that is no failure: so does a repository that the call has made.
func TestDirectoryStays(t *testing.T) {
	dir := t.TempDir()
	tree, store := open(t, dir, Options{})
	r := run(t, tree, "mkdir -p sub/deep; git init -q sub; echo x > sub/deep/x")
	did, back, err := back(t, tree, store, r.Changes, func() {})
	if err != nil || len(back.Stay) != 1 || back.Stay[0] != "sub" || len(did) != 2 {
		t.Error(err, back.Stay, did)
	}
}

// What was forbidden to read before a call is not a thing that the call has made.
func TestForbiddenBefore(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read all")
	}
	for _, mode := range []string{"000", "400", "100"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "d/e/x"), "x\n")
		sh(t, dir, "chmod "+mode+" d")
		t.Cleanup(func() { os.Chmod(filepath.Join(dir, "d"), 0o700) })
		tree, store := open(t, dir, Options{})
		r := run(t, tree, "chmod 755 d; echo new > d/e/new")
		if _, _, err := back(t, tree, store, r.Changes, func() {}); err != nil {
			t.Error(err)
		}
		if got := sh(t, dir, "stat -c %a d; chmod 700 d; cat d/e/x"); got != mode+"\nx\n" && got != mode[1:]+"\nx\n" && got != "0\nx\n" {
			t.Errorf("%s: %q", mode, got)
		}
		// And what it hides is not deleted.
		r = run(t, tree, "chmod "+mode+" d")
		if len(r.Changes) != 1 {
			t.Error(r.Changes)
		}
	}
}

// What a command has done in directories that it closes after that, is put back. The directories stay closed in between.
func TestClosedByCommand(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read all")
	}
	for name, o := range map[string]Options{"watched": {}, "walked": {NoWatch: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			sh(t, dir, "mkdir -p d/e; echo one > d/f; echo two > d/g; echo three > d/e/h")
			t.Cleanup(func() { sh(t, dir, "chmod -R 700 .") })
			tree, store := open(t, dir, o)
			r := run(t, tree, "echo more > d/f; rm d/g; echo new > d/n; echo more > d/e/h; chmod 000 d/f d/e d")
			if next := run(t, tree, "echo x > other"); len(r.Changes) != 6 || len(next.Changes) != 1 || sh(t, dir, "stat -c %a d") != "0\n" {
				t.Error(r.Changes, next.Changes)
			}
			for n := 0; !o.NoWatch; n++ { // files that were written just now are looked at again
				was := sh(t, dir, "stat -c %z d")
				if run(t, tree, "echo y >> other"); sh(t, dir, "stat -c %z d") == was {
					break
				}
				if n == 50 {
					t.Fatal("closed directories that nobody has changed are opened at each call")
				}
			}
			undo(t, tree, store, r.Changes)
			if got := sh(t, dir, "stat -c %a d d/e d/f; cat d/f d/g d/e/h; ls d"); got != "755\n755\n644\none\ntwo\nthree\ne\nf\ng\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

// endsAt is a context that ends the process, as far as a test can, at the nth step of a restoration.
type endsAt struct {
	context.Context
	n *int
}

func (e endsAt) Err() error {
	if *e.n--; *e.n < 0 {
		panic("killed")
	}
	return nil
}

// If a restoration is killed at any step, the next one finishes it. It reports no conflict. (GRD-3)
func TestKilledInTheMiddle(t *testing.T) {
	const first = `mkdir -p d/deep e s; echo 1 > d/1; echo 2 > d/deep/2; ln d/1 e/hard; echo 3 > e/3; echo f > f; ln -s f l; echo p > p; mkdir g; echo 4 > g/4; echo s > s/s
		chmod 500 d/deep; chmod 2775 e; chmod 1777 s; chmod 600 p`
	const script = `chmod 700 d/deep; rm -r d; echo changed > e/hard; rm e/3; chmod 555 e; rm f; mkdir f; echo new > f/new; rm l; echo L > l; rm -r g; echo now > g; echo more > p; chmod 000 p; echo n > n; chmod 700 s`
	for at := 0; ; at++ {
		dir := t.TempDir()
		t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", dir).Run() })
		sh(t, dir, first)
		tree, store := open(t, dir, Options{})
		before := listing(t, dir)
		r := run(t, tree, script)
		killed := func() (killed bool) {
			defer func() { killed = recover() != nil }()
			back, err := Prepare(t.Context(), dir, store, r.Changes)
			if err != nil {
				t.Error(err)
				return false
			}
			n := at
			_, err = back.Apply(endsAt{t.Context(), &n}, func(s Step) bool { return s.Why == Fits })
			if err = errors.Join(err, back.Close()); err != nil {
				t.Error(err)
			}
			return false
		}()
		write(t, filepath.Join(dir, asidePrefix+"KEPT"), "3\n")
		write(t, filepath.Join(dir, asidePrefix+"HALF"), "chan")
		write(t, filepath.Join(dir, asidePrefix+"MINE"), "somebody wrote this\n")
		sh(t, dir, "chmod 200 "+asidePrefix+"HALF")
		_, left := undo(t, tree, store, r.Changes)
		for p, why := range left {
			if why != Done {
				t.Errorf("killed at step %d: %s is left: %v", at, p, why)
			}
		}
		if got := sh(t, dir, "ls -A "+asidePrefix+"*; rm "+asidePrefix+"*"); got != asidePrefix+"MINE\n" {
			t.Errorf("killed at step %d: %q", at, got)
		}
		if now := listing(t, dir); now != before {
			t.Fatalf("killed at step %d: got\n%s\nwant\n%s", at, now, before)
		}
		if !killed {
			break
		}
	}
}

// An undo is planned, and a person is asked about it. Before the answer, another program makes a file or directory at a path that the undo would make. The undo
// does not change the mode of what was made.
func TestMadeMeanwhile(t *testing.T) {
	for _, make := range []string{"mkdir -m 700 d", "touch d; chmod 600 d"} {
		dir := t.TempDir()
		sh(t, dir, "mkdir -m 755 d")
		tree, store := open(t, dir, Options{})
		r := run(t, tree, "rmdir d")
		if _, _, err := back(t, tree, store, r.Changes, func() { sh(t, dir, make) }); err == nil {
			t.Errorf("%s: no error", make)
		}
		if info, err := os.Stat(filepath.Join(dir, "d")); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", make, info.Mode(), err)
		}
	}
}
