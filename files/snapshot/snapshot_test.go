package snapshot

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func open(t testing.TB, dir string, o Options) (*Tree, *Store) {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Open(dir, store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	<-tree.Ready()
	return tree, store
}

// run runs a command as a call, and returns what it changed.
func run(t testing.TB, tree *Tree, script string) Result {
	t.Helper()
	c, err := tree.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, tree.Dir, script)
	r, err := c.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// undo takes changes back. It returns what that changed, and the paths that it left alone.
func undo(t testing.TB, tree *Tree, store *Store, cs Changes) (did Changes, left map[string]Why) {
	t.Helper()
	r, err := Prepare(t.Context(), tree.Dir, store, cs)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	left = map[string]Why{}
	for _, s := range r.Steps {
		if s.Why != Fits {
			left[s.Path] = s.Why
		}
	}
	did, err = r.Apply(t.Context(), func(s Step) bool { return s.Why == Fits })
	if err != nil {
		t.Fatal(err)
	}
	return did, left
}

// picture has names, types, permissions, links and contents, without what is only listed.
func picture(t testing.TB, dir string) string { return describe(t, dir, false, ".git", "node_modules") }

func project(t testing.TB) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/a.go": "package a\n", "src/deep/b.go": "package b\n", "README.md": "# x\n", ".gitignore": "*.log\n.env\nnode_modules/\n",
		"x.log": "log\n", ".env": "SECRET=1\n", "node_modules/m/index.js": "x\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	sh(t, dir, `git init -q; git add .; git commit -qm one; echo 'package a // two' > src/a.go; git commit -qam two
		echo new > untracked; echo changed >> README.md; ln -s src/a.go link; mkdir empty; chmod 755 src/deep/b.go; echo staged > staged; git add staged`)
	return dir
}

// A command is taken back, byte for byte, with permissions and links, and done again. (GRD-3)
func TestUndo(t *testing.T) {
	for _, script := range []string{
		"rm -rf src", "git reset -q --hard", "git reset -q --hard HEAD~1", "git clean -fdxq", "git checkout -q .",
		"find . -path ./.git -prune -o -path ./node_modules -prune -o -type f -exec sed -i s/a/b/g {} +",
		"mv src lib", "chmod -R 700 src", "rm -r src; echo file > src", "rm link; mkdir link; echo x > link/y", "rm README.md; ln -s x README.md", "rm .env x.log; rmdir empty",
		"mkdir -p node_modules/n/m; echo y > node_modules/n/m/y", "git stash -q", "git checkout -q HEAD~1 -- .", "chmod 500 src; chmod 400 src/a.go",
		"rm -rf ./*", "truncate -s 0 README.md; printf x >> untracked", "ln README.md hard; echo y >> hard", "mkfifo pipe", "rm -rf .git src", "chmod 700 .",
		`mv README.md "$(printf 'r\\377')"; ln -s "$(printf 'x\\376')" "$(printf 'l\\n')"`,
	} {
		for _, o := range []Options{{}, {NoGit: true}, {NoWatch: true}} {
			t.Run(script, func(t *testing.T) {
				dir := project(t)
				t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", dir).Run() })
				tree, store := open(t, dir, o)
				before := picture(t, dir)
				r := run(t, tree, script)
				after := picture(t, dir)
				did, left := undo(t, tree, store, r.Changes)
				for p, why := range left {
					if !strings.HasPrefix(p, "node_modules/m/index.js") && (o.NoGit || script != "rm -rf .git src") {
						t.Errorf("%s: %v", p, why)
					}
				}
				if now := picture(t, dir); now != before && (o.NoGit || script != "rm -rf .git src") {
					t.Errorf("got\n%s\nwant\n%s", now, before)
				}
				undo(t, tree, store, did)
				if now := picture(t, dir); now != after && script != "mkfifo pipe" {
					t.Errorf("redone: got\n%s\nwant\n%s", now, after)
				}
			})
		}
	}
}

// An agent can write programs into the configuration of a repository. None of them runs in the guard. (GRD-3)
func TestHostileRepository(t *testing.T) {
	dir := project(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(dir, "program.sh")
	write(t, program, "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"} {
		write(t, filepath.Join(dir, ".git/hooks", hook), "#!/bin/sh\necho hook >> "+ran+"\n")
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=x diff=x merge=x\n")
	sh(t, dir, "git -c filter.x.clean= add -A; git commit -qm three")
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.alternateRefsCommand", "diff.external", "diff.x.command",
		"diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver", "gpg.program", "credential.helper", "sequence.editor",
		"uploadpack.packObjectsHook", "remote.origin.uploadpack", "alias.cat-file", "alias.rev-parse", "alias.for-each-ref", "pager.cat-file", "interactive.diffFilter", "trailer.x.command",
	} {
		sh(t, dir, "git config "+key+" "+program)
	}
	sh(t, dir, `git config remote.origin.url "ext::`+program+`"; git config remote.origin.promisor true; git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config core.hooksPath .git/hooks; git config protocol.ext.allow always; rm -f `+ran)
	tree, store := open(t, dir, Options{})
	if tree.git == nil || tree.git.head == "" {
		t.Fatal("the repository is not used")
	}
	r := run(t, tree, "rm -rf src README.md")
	_, left := undo(t, tree, store, r.Changes)
	for p, why := range left {
		t.Errorf("%s: %v", p, why)
	}
	// An object that is not there is not fetched.
	if _, err := tree.git.blob(strings.Repeat("1", 40)); err == nil {
		t.Error("a missing object was found")
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", text)
	}
}

// A link in the tree leads no change and no undo out of it.
func TestLinksThatLeave(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "b.txt"), "outside\n")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d/b.txt"), "inside\n")
	tree, store := open(t, dir, Options{})
	r := run(t, tree, "rm d/b.txt")
	sh(t, dir, "rmdir d; ln -s "+outside+" d")
	back, err := Prepare(t.Context(), dir, store, r.Changes)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if _, err := back.Apply(t.Context(), func(Step) bool { return true }); err == nil {
		t.Error("the undo went through a link")
	}
	if text, err := os.ReadFile(filepath.Join(outside, "b.txt")); err != nil || string(text) != "outside\n" {
		t.Errorf("outside: %q, %v", text, err)
	}
	run(t, tree, "echo x >> d/b.txt") // through the link: outside, and no change of the tree
}

// A tree with too many files is not followed, and that is said: its table would need too much memory. Files that are gone do not count. (GRD-5)
func TestTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "mkdir d; for i in 1 2 3 4 5 6 7 8; do echo $i > d/$i; done")
	for most, want := range map[int]error{7: ErrTooMany, 8: nil} {
		store, err := OpenStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Open(dir, store, Options{Files: most})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		<-tree.Ready()
		if _, err := tree.Begin(t.Context()); !errors.Is(err, want) || !errors.Is(tree.Broken(), want) {
			t.Error(most, err, tree.Broken())
		}
		if want == nil {
			r := run(t, tree, "rm -r d; mkdir e; for i in 1 2 3 4 5 6; do echo $i > e/$i; done; echo x > y")
			if len(r.Changes) != 17 || tree.files != 7 {
				t.Error(len(r.Changes), tree.files)
			}
			undo(t, tree, store, r.Changes)
			if _, err := tree.Begin(t.Context()); err != nil || tree.files != 8 {
				t.Error(err, tree.files)
			}
		}
	}
}
