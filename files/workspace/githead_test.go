package workspace

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"
)

// TestBareRepository checks that files which git obeys beside a HEAD are control files. This is so at any depth, for any
// name of the directory, and for files that do not exist yet. (FILE-13)
func TestBareRepository(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("HEAD", "ref: refs/heads/main\n") // the root itself may be a bare repository
	tr.put("a/b/HEAD", "ref: refs/heads/main\n")
	tr.put("a/b/config", "old")
	tr.put("plain/config", "old")
	tr.put("plain/hooks/x", "old")
	tr.link("a/b", "link")
	if err := os.Mkdir(tr.abs("linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	tr.link("refs/heads/main", "linked/HEAD") // a link without a target, as older versions of git make it
	for s, want := range map[string]Class{
		"config": Control, "hooks/pre-commit": Control, "info/attributes": Control, "CONFIG": Control,
		"a/b/config": Control, "a/b/Config": Control, "a/b/config.worktree": Control, "a/b/commondir": Control, "a/b/gitdir": Control,
		"a/b/hooks": Control, "a/b/hooks/pre-commit": Control, "a/b/hooks/deep/er/x": Control, "a/b/info/attributes": Control,
		"link/config": Control, "link/hooks/new/x": Control, "linked/config": Control,
		"a/b/README": Ordinary, "a/b/src/config": Ordinary, "a/config": Ordinary, "a/hooks/x": Ordinary, "a/b/configs": Ordinary,
		"plain/config": Ordinary, "plain/hooks/x": Ordinary, "plain/new/hooks/x": Ordinary,
	} {
		info, err := tr.Inspect(tr.path(s))
		if info.Class != want || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, want %v (%v)", s, info.Class, want, err)
		}
		if want != Control {
			continue
		}
		_, err = tr.write(s, "x", "", WriteMode{CreateDirs: true})
		wantErr(t, s, err, ErrProtected)
	}
	for _, s := range []string{"a/b/hooks", "hooks", "info", "a/b/info"} {
		if _, err := os.Lstat(tr.abs(s)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made on the way", s)
		}
	}
	tr.mustWrite("a/b/config", "new", VersionOf([]byte("old")), WriteMode{Agreed: ControlFile})
	tr.mustWrite("a/b/hooks/pre-commit", "new", "", WriteMode{Agreed: ControlFile, CreateDirs: true})
}

// TestWorkTrees checks a bare repository with work trees, in git's own layout.
func TestWorkTrees(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	tr := newTree(t, Options{})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = tr.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		for _, who := range []string{"AUTHOR", "COMMITTER"} {
			cmd.Env = append(cmd.Env, "GIT_"+who+"_NAME=n", "GIT_"+who+"_EMAIL=e@example.org")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "--bare", "store")
	git("init", "-q", "first")
	git("-C", "first", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "first", "push", "-q", "../store", "HEAD:refs/heads/main")
	git("-C", "store", "worktree", "add", "-q", "../tree", "main")
	for s, want := range map[string]Class{
		"tree/.git": Repository, "tree/a.go": Ordinary, "tree/config": Ordinary,
		"store/config": Control, "store/HEAD": Control, "store/hooks/post-checkout": Control,
		"store/worktrees/tree/HEAD": Control, "store/worktrees/tree/commondir": Control, "store/worktrees/tree/gitdir": Control,
		"store/worktrees/tree/config.worktree": Control,
	} {
		if info, _ := tr.Inspect(tr.path(s)); info.Class != want {
			t.Errorf("%s: %v, want %v", s, info.Class, want)
		}
	}
}
