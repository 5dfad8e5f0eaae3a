package snapshot

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Unusual names, kinds of files and repositories: a command is taken back, byte for byte, and done again; what was done before is in the first line. (GRD-3)
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first, script string }{
		{"file becomes directory and back", "echo x > f; mkdir -p d/e; echo y > d/e/y", "rm f; mkdir f; echo z > f/z; rm -r d; echo now > d"},
		{"file becomes link and back", "echo x > f; ln -s f l", "rm f l; ln -s nowhere f; echo x > l"},
		{"the case of a name", "echo x > Name; mkdir Dir; echo y > Dir/y", "mv Name name; mv Dir dir"},
		{"two names that differ in case", "echo x > Name; echo y > name", "mv Name NAME; rm name"},
		{"names swapped", "echo x > a; echo y > b; mkdir c d; echo 1 > c/1", "mv a t; mv b a; mv t b; mv c t; mv d c; mv t d"},
		{"hard links", "echo x > a; ln a b; mkdir d; ln a d/c", "echo more >> b; rm a; ln b e"},
		{"hard link is cut", "echo x > a; ln a b", "cp a t; mv t a; echo y >> a"},
		{"sed through a hard link", "echo x > a; ln a b", "sed -i s/x/y/ a"},
		{"holes", "truncate -s 3M sparse; printf x >> sparse", "printf y | dd of=sparse bs=1 seek=1000000 conv=notrunc 2>/dev/null"},
		{"long names", "n=$(printf 'n%.0s' $(seq 255)); mkdir $n; echo x > $n/$n", "n=$(printf 'n%.0s' $(seq 255)); echo y > $n/$n; mv $n/$n $n/m"},
		{"odd names", `mkdir -- -d '  ' "$(printf 'a\nb')" '*' '\' ':(top)' HEAD..x; for d in ./*; do echo x > "$d/$(printf ' t\t\r')"; done; echo x > -rf; echo y > 'C:y'; echo z > "$(printf '\377')"`, "rm -r -- ./*"},
		{"pipes and sockets", "mkfifo pipe; echo x > x; mkdir d; mkfifo d/.gitignore", "echo y > x; rm -f new; mkfifo new d/p; ln -s pipe l"},
		{"permissions", "echo x > a; echo y > b; mkdir d; echo z > d/z; chmod 000 b; chmod 4755 a; chmod 1777 d", "chmod 000 a; chmod 6711 b; chmod 2700 d; rm d/z"},
		{"loops of links", "ln -s a b; ln -s b a; ln -s . here; ln -s .. up; ln -s / root", "rm a here root; ln -s here here; echo x > a"},
		{"nested repository", "git init -q .; git init -q sub; echo x > sub/x; (cd sub; git add .; git commit -qm one); echo y > sub/y", "cd sub; git checkout -q -b other; git rm -qf x; echo z > y; git add .; git commit -qm two"},
		{"a repository in a directory of its own", "git init -q --separate-git-dir=$(mktemp -d)/g .; echo x > x; git add .; git commit -qm one", "rm .git x"},
		{"work tree", "mkdir main; cd main; git init -q .; echo x > x; git add .; git commit -qm one; git worktree add -q ../tree; cd ..; rm -rf ./main/x", "cd tree; git rm -qf x; echo y > y; git add y; git commit -qm two; rm .git"},
		{"submodule", "git init -q lib; (cd lib; echo x > x; git add .; git commit -qm one); git init -q .; git -c protocol.file.allow=always submodule --quiet add ./lib mod; git commit -qm one", "cd mod; echo y > x; rm .git; cd ..; rm .gitmodules"},
		{"bare repository", "git init -q --bare b.git; echo x > x", "rm -r b.git; git init -q --bare c.git"},
		{"line ends", "git init -q .; printf '* text=auto eol=crlf\\n' > .gitattributes; printf 'a\\r\\nb\\r\\n' > t; git add .; git commit -qm one", "printf 'x\\n' > t; git checkout -q HEAD~0 -- t; rm .gitattributes; sed -i 's/\\r//' t"},
		{"filters and ident", "git init -q .; git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; printf '*.u filter=up\\n*.i ident\\n' > .gitattributes; echo abc > f.u; echo '$Id$' > f.i; git add .; git commit -qm one; rm f.i; git checkout -q f.i", "rm f.u; echo '$Id$' > f.i"},
		{"pointers of large files", "git init -q .; printf '*.bin filter=lfs -text\\n' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%064d\\nsize 5\\n' 0 > f.bin; git add .; git commit -qm one; printf 12345 > f.bin", "rm f.bin; git checkout -q f.bin"},
		{"hidden changes", "git init -q .; echo x > a; echo y > b; git add .; git commit -qm one; git update-index --assume-unchanged a; git update-index --skip-worktree b; echo mine > a; echo mine > b", "git update-index --no-assume-unchanged a; git update-index --no-skip-worktree b; git checkout -q ."},
		{"sparse checkout", "git init -q .; mkdir in out; echo x > in/x; echo y > out/y; git add .; git commit -qm one; git sparse-checkout set in", "git sparse-checkout disable; rm in/x"},
		{"sha256", "git init -q --object-format=sha256 .; echo x > x; mkdir d; echo y > d/y; git add .; git commit -qm one", "rm -r d; echo z > x; git add -A; git commit -qm two"},
		{"alternates and replaced objects", "git init -q o; (cd o; echo x > x; git add .; git commit -qm one); git clone -qs o c; cd c; echo other > t; git replace -f $(git rev-parse HEAD:x) $(git hash-object -w t)", "cd c; rm x t"},
		{"a tag of the same name as the branch", "git init -q .; git branch -m x; echo x > x; git add .; git commit -qm one; git tag HEAD", "rm x"},
		{"no commit yet", "git init -q .; echo x > x; git add x; echo y > y", "git rm -qf --cached x; rm x y"},
		{"read-only directory", "mkdir d; echo x > d/x; chmod 500 d", "chmod 700 d; rm d/x; echo y > d/y; chmod 500 d"},
		{"file in a read-only directory", "mkdir d; echo one > d/x; chmod 500 d", "echo two > d/x"},
		{"same size, old time", "echo one > a; touch -d '2001-01-01' a; echo one > b", "echo two > a; touch -d '2001-01-01' a; cp -p a b; touch -r . b"},
	} {
		for name, o := range map[string]Options{"": {}, " without git": {NoGit: true}, " walked": {NoWatch: true}} {
			if name != "" && os.Getenv("STET_SOAK") == "" {
				continue
			}
			t.Run(c.name+name, func(t *testing.T) {
				dir := t.TempDir()
				t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", dir).Run() })
				sh(t, dir, c.first)
				tree, store := open(t, dir, o)
				look := func() string { return listing(t, dir) }
				before := look()
				r := run(t, tree, c.script)
				after := look()
				if before == after {
					t.Fatal("the command changed nothing")
				}
				did, left := undo(t, tree, store, r.Changes)
				for p, why := range left {
					t.Errorf("%s: %v", p, why)
				}
				if now := look(); now != before {
					t.Errorf("got\n%s\nwant\n%s", now, before)
				}
				if _, left := undo(t, tree, store, did); look() != after && c.name != "pipes and sockets" {
					t.Errorf("redone: got\n%s\nwant\n%s\nleft %v", look(), after, left)
				}
			})
		}
	}
}

// listing is a picture with how many names a file has, and with what is only listed.
func listing(t testing.TB, dir string) string { return describe(t, dir, true, ".git", "o") }

// describe has the names, modes, links and contents of a tree, without directories of some names.
func describe(t testing.TB, dir string, names bool, skip ...string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(skip, d.Name()) {
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		link, _ := os.Readlink(name)
		fmt.Fprintf(&b, "%q %v %q", name[len(dir):], info.Mode(), link)
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			fmt.Fprintf(&b, " %.40q %x", data, sha256.Sum256(data))
			if names {
				fmt.Fprint(&b, " ", reflect.ValueOf(info.Sys()).Elem().FieldByName("Nlink").Uint())
			}
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What git has of the files goes with the repository: a later command's undo still has all of them. (GRD-3)
func TestRepositoryGoes(t *testing.T) {
	t.Parallel()
	for _, first := range []string{
		"rm -rf .git", "rm -rf .git; git init -q .", "rm -rf .git; git init -q .; git add .; git commit -qm new", "rm -rf .git/objects", "rm .git/HEAD", "mv .git ../$$",
		"git checkout -q --orphan new; git add .; git commit -qm new; git branch -D $(git branch | grep -v '*'); git reflog expire --expire=now --all; git gc -q --prune=now",
		"git rm -rq --cached src; git commit -q --allow-empty --amend -m new; git reflog expire --expire=now --all; git gc -q --prune=now", "git update-ref -d HEAD; git reflog expire --expire=now --all; git prune",
	} {
		for _, o := range []Options{{}, {NoWatch: true}}[:map[bool]int{true: 1, false: 2}[os.Getenv("STET_SOAK") == ""]] {
			dir := filepath.Join(t.TempDir(), "p")
			write(t, filepath.Join(dir, "src/a.go"), "package a\n")
			write(t, filepath.Join(dir, "src/deep/b.go"), "package b\n")
			sh(t, dir, "git init -q; git add .; git commit -qm one")
			tree, store := open(t, dir, o)
			r := run(t, tree, first)
			if len(r.Changes) > 0 {
				t.Errorf("%s: %v", first, r.Changes)
			}
			before := picture(t, dir)
			r = run(t, tree, "rm -rf src")
			if _, left := undo(t, tree, store, r.Changes); picture(t, dir) != before {
				t.Errorf("%s: left %v", first, left)
			}
		}
	}
}

// A content that git had and the Store has now is the same content, however the file's times are: after the repository went, a file counts as changed
// only if it is; and at the limit of the Store no file is lost that was kept. (GRD-3)
func TestSameContentElsewhere(t *testing.T) {
	t.Parallel()
	ahead := time.Now().Add(time.Hour)
	for i, c := range []struct{ before, script, want string }{
		{"", "touch src/*; rm -rf .git", ""},
		{"", "rm -rf .git; git init -q; touch src/*", ""},
		{"", "touch src/*; rm -rf .git; git init -q; git add .; git commit -qm new", ""},
		{"", "touch src/*; git rm -rq --cached src; git commit -qm less; git reflog expire --expire=now --all; git gc -q --prune=now", ""},
		{"rm -rf .git", "touch src/*; git init -q; git add .; git commit -qm new", ""},
		{"", "chmod 600 src/a; echo new > src/b", "src/a src/b"},
		{"rm -rf .git", "chmod 600 src/a; echo new > src/b", "src/a src/b"},
		{"", "echo more > src/a; git commit -qam two", "src/a"},
	} {
		all := []Options{{}, {Limit: 1}, {NoWatch: true}}
		if os.Getenv("STET_SOAK") == "" {
			all = all[i%2 : i%2+1]
		}
		for _, o := range all {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "src/a"), "a\n")
			write(t, filepath.Join(dir, "src/b"), "b\n")
			sh(t, dir, "git init -q; git add .; git commit -qm one")
			for _, name := range []string{"src/a", "src/b"} {
				if err := os.Chtimes(filepath.Join(dir, name), ahead, ahead); err != nil {
					t.Fatal(err)
				}
			}
			tree, store := open(t, dir, o)
			if o.Limit == 1 { // it is full now
				if _, err := store.Put([]byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if c.before != "" {
				run(t, tree, c.before)
			}
			before := picture(t, dir)
			r := run(t, tree, c.script)
			var got []string
			for _, change := range r.Changes.Sorted() {
				got = append(got, change.Path)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %s; %s: changed are %v", o, c.before, c.script, got)
			}
			if o.Limit == 1 && c.before != "" { // what git had is gone with git, and the Store is full
				continue
			}
			if _, left := undo(t, tree, store, r.Changes); picture(t, dir) != before || len(left) > 0 {
				t.Errorf("%+v: %s; %s: left %v", o, c.before, c.script, left)
			}
		}
	}
}

// Two calls run at once, and one of them removes the repository: what the other has changed before can be undone. (GRD-3)
func TestRepositoryGoesAtOnce(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {NoWatch: true}} {
		dir := project(t)
		tree, store := open(t, dir, o)
		before := picture(t, dir)
		first, err := tree.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sh(t, dir, "rm -rf src")
		run(t, tree, "rm -rf .git")
		r, err := first.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, left := undo(t, tree, store, r.Changes); picture(t, dir) != before {
			t.Errorf("left %v", left)
		}
	}
}

// Pipes and endless files in a repository, in which an agent can write, hold nothing up. (GRD-3)
func TestGitThatWaits(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("set STET_SOAK: git is given its time")
	}
	for _, name := range []string{"HEAD", "info/exclude", "logs/refs/stash", "index", "config", "packed-refs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t)
			tree, store := open(t, dir, Options{})
			before := picture(t, dir)
			r := run(t, tree, "rm -r src; mkdir -p .git/$(dirname "+name+"); rm -f .git/"+name+"; mkfifo .git/"+name)
			undo(t, tree, store, r.Changes)
			if now := picture(t, dir); now != before && name != "HEAD" {
				t.Errorf("got %s\nwant %s", now, before)
			}
			run(t, tree, "rm .git/"+name+"; ln -s /dev/zero .git/"+name)
		})
	}
}

// A path that is longer than the system takes at once.
func TestLongPath(t *testing.T) {
	dir := t.TempDir()
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { at.Close() }()
	for range 30 {
		name := strings.Repeat("n", 200)
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = next
	}
	if err := at.WriteFile("x", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, store := open(t, dir, Options{})
	c, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(at.Rename("x", "y"), at.WriteFile("y", []byte("y"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := c.End(t.Context())
	if err != nil || len(r.Changes) != 2 {
		t.Fatal(err, len(r.Changes))
	}
	undo(t, tree, store, r.Changes)
	if text, err := at.ReadFile("x"); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}

// A link file of git, and a stored content that a crash of the system has emptied.
func TestSmallThings(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q --separate-git-dir=$(mktemp -d)/g .; echo x > x; git add .; git commit -qm one; echo y > y")
	tree, store := open(t, dir, Options{})
	for _, script := range []string{"rm .git", "printf 'gitdir: /nowhere\n' > .git"} {
		before := sh(t, dir, "cat .git")
		r := run(t, tree, script)
		if undo(t, tree, store, r.Changes); sh(t, dir, "cat .git") != before {
			t.Errorf("%s: %v", script, r.Changes)
		}
	}
	if err := os.Truncate(store.name(sha256.Sum256([]byte("y\n"))), 0); err != nil {
		t.Fatal(err)
	}
	run(t, tree, "touch y")
	r := run(t, tree, "rm y")
	if _, left := undo(t, tree, store, r.Changes); len(left) > 0 || sh(t, dir, "cat y") != "y\n" {
		t.Error(left)
	}
}

// A file gets a second name in another directory, and is changed through it: no watch tells of that where the first name is. (GRD-3)
func TestSecondName(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d/a"), "one\n")
	write(t, filepath.Join(dir, "e/x"), "x\n")
	tree, store := open(t, dir, Options{})
	run(t, tree, "ln d/a e/b")
	for _, script := range []string{"echo more >> e/b", "echo new > d/a", "rm d/a", "sed -i s/o/u/ e/b"} {
		before := listing(t, dir)
		r := run(t, tree, script)
		if undo(t, tree, store, r.Changes); listing(t, dir) != before {
			t.Errorf("%s: got\n%s\nwant\n%s", script, listing(t, dir), before)
		}
	}
}

// On a file system that writes whole seconds, a file that was written a moment ago may change without another stamp.
func TestRacy(t *testing.T) {
	second := int64(time.Second)
	for _, c := range []struct{ changed, now, want int64 }{{second, 2 * second, 1}, {second, 4 * second, 0}, {second + 1, second + int64(tick), 1}, {second + 1, 2 * second, 0}, {5 * second, 2 * second, 1}} {
		if got := (stamp{mtime: 1, ctime: c.changed}).racy(c.now); got != (c.want == 1) {
			t.Error(c, got)
		}
	}
}

// Where letter case does not matter, a name that has another spelling is put back with its own, and no file is lost.
func TestRespelled(t *testing.T) {
	if dir := t.TempDir(); sh(t, dir, "echo x > a; cat A 2>/dev/null || true") == "" {
		t.Skip("this file system knows letter case")
	}
	for _, script := range []string{"mv Name t; mv t NAME; mv Dir t; mv t dir", "rm Name; echo y > name", "rm Name; echo x > NAME", "rm Name; mkdir NAME; echo y > NAME/x", "rm -r Dir; mkdir dir; echo 3 > dir/a"} {
		dir := t.TempDir()
		sh(t, dir, "echo x > Name; mkdir Dir; echo 1 > Dir/a")
		tree, store := open(t, dir, Options{})
		before := listing(t, dir)
		r := run(t, tree, script)
		if _, left := undo(t, tree, store, r.Changes); listing(t, dir) != before || len(left) > 0 {
			t.Errorf("%s: left %v: %s", script, left, firstDifference(listing(t, dir), before))
		}
	}
}
