package snapshot

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What commands move in git — branches, HEAD, the stash, what is staged — is put back by the commands that an undo prints, in the whole repository and in
// a directory of it. (GRD-3)
func TestBackTo(t *testing.T) {
	for _, script := range []string{
		"git stash drop -q", "git reset -q --hard", "git reset -q --hard HEAD~1", "git reset -q --soft HEAD~1", "git reset -q", "git checkout -q -f HEAD~1", "git checkout -q -b other",
		"git checkout -q -f -B main HEAD~1", "git commit -qam three", "git commit -q --amend -m new", "git add -A", "git rm -q --cached :/README.md", "git branch -q -D kept; git tag -d v1", "git stash pop -q -f || git stash drop -q",
		"cd $(git rev-parse --show-toplevel); git mv -f README.md 'src/new name'", "git update-ref -d HEAD",
	} {
		for _, sub := range []string{"", "src"} {
			t.Run(script+" "+sub, func(t *testing.T) {
				dir := project(t)
				sh(t, dir, `git branch -q -m main; git branch kept; git tag v1; git stash -q; git stash apply -q; git add README.md; printf 'x\n' > 'src/with space'; git add src; git rm -q --cached src/deep/b.go`)
				look := func() string {
					return sh(t, dir, "git symbolic-ref -q HEAD || git rev-parse HEAD; git for-each-ref | grep -v refs/stash; git reflog show --format=%H refs/stash 2>/dev/null || true; git ls-files -s; git status --porcelain -uall")
				}
				before := look()
				tree, store := open(t, filepath.Join(dir, sub), Options{})
				r := run(t, tree, script)
				if sub == "" {
					undo(t, tree, store, r.Changes)
				}
				var ran []string
				for _, line := range r.Refs.BackTo(r.RefsBefore) {
					ran = append(ran, strings.Join(line, " "))
					cmd := exec.Command(line[0], line[1:]...)
					cmd.Dir = tree.Dir
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%q: %v %s", line, err, out)
					}
				}
				if sub == "" && look() != before {
					t.Errorf("got\n%s\nwant\n%s\nafter %s", look(), before, strings.Join(ran, "\n"))
				}
				index := func(s string) string { return s[:strings.LastIndex(s, "\t")] }
				if now := look(); sub != "" && index(now[:strings.LastIndexByte(now, '\t')]) != index(before[:strings.LastIndexByte(before, '\t')]) {
					t.Errorf("got\n%s\nwant\n%s", now, before)
				}
			})
		}
	}
}

// A staged content that git has removed meanwhile is named.
func TestStagedGone(t *testing.T) {
	dir := project(t)
	tree, _ := open(t, dir, Options{})
	r := run(t, tree, "git reset -q --hard; git reflog expire --expire=now --all; git gc -q --prune=now")
	if len(r.RefsBefore.Staged) != 1 || len(r.Refs.Staged) != 0 {
		t.Fatal(r.RefsBefore.Staged, r.Refs.Staged)
	}
	now, gone := RefsOf(t.Context(), dir, r.RefsBefore.Staged)
	if !gone[r.RefsBefore.Staged[0].Blob] || !now.SameIndex(r.Refs) {
		t.Error(now, gone)
	}
}
