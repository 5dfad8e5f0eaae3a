package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// actor changes a tree at random, as a command or a person does.
type actor struct {
	rng *rand.Rand
	dir string
	n   int
}

func (a *actor) path() string {
	names := []string{"a", "b", "c", "d.txt", "e.log", "node_modules"}
	parts := []string{a.dir}
	for range 1 + a.rng.IntN(3) {
		parts = append(parts, names[a.rng.IntN(len(names))])
	}
	return filepath.Join(parts...)
}

func (a *actor) act() {
	p, q := a.path(), a.path()
	a.n++
	k := a.rng.IntN(10)
	switch k {
	case 0, 1, 2:
		os.MkdirAll(filepath.Dir(p), 0o755)
		os.WriteFile(p, fmt.Appendf(nil, "text %d\n", a.n), 0o644)
	case 3:
		if f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(f, "more", a.n)
			f.Close()
		}
	case 4:
		os.RemoveAll(p)
	case 5:
		os.Rename(p, q)
	case 6:
		mode := []fs.FileMode{0o600, 0o644, 0o755, 0o700}[a.rng.IntN(4)]
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			mode |= 0o700 // the test has to read it
		}
		os.Chmod(p, mode)
	case 7:
		os.Symlink([]string{"a", "../b", "nowhere"}[a.rng.IntN(3)], p)
	case 8:
		os.MkdirAll(p, 0o750)
	case 9:
		os.Link(p, q)
	}
}

// Random commands, a person's edits in between, undo and redo: every undo gives back what was there, but for the paths that
// somebody changed since; and those stay. (GRD-3)
func TestRandomCommands(t *testing.T) {
	runs := uint64(60)
	if os.Getenv("STET_SOAK") != "" {
		runs = 1000
	}
	for seed := range runs {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		a := &actor{rng: rng, dir: dir}
		write(t, filepath.Join(dir, ".gitignore"), "*.log\nnode_modules\n")
		for range 30 {
			a.act()
		}
		if seed%2 == 0 {
			sh(t, dir, "git init -q; git add .; git commit -qm one")
		}
		tree, store := open(t, dir, Options{NoWatch: seed%3 == 0})
		for step := range 12 {
			before := picture(t, dir)
			c, err := tree.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(6) {
				a.act()
			}
			r, err := c.End(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			after := picture(t, dir)
			name := fmt.Sprintf("seed %d, step %d", seed, step)
			person := rng.IntN(4) == 0
			if person {
				for range 1 + rng.IntN(3) {
					a.act()
				}
			}
			edited := picture(t, dir)
			did, left, err := tryUndo(tree, store, r.Changes)
			if !person {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for p, why := range left {
					if !strings.Contains(p, "node_modules") {
						t.Fatalf("%s: %s is left: %v", name, p, why)
					}
				}
				if now := picture(t, dir); now != before && len(left) == 0 {
					t.Fatalf("%s: got\n%s\nwant\n%s\nchanges %+v", name, now, before, r.Changes.Sorted())
				}
			}
			if _, _, err := tryUndo(tree, store, did); err != nil && !person {
				t.Fatalf("%s: redo: %v", name, err)
			}
			want := after
			if person {
				want = edited
			}
			if now := picture(t, dir); now != want && len(left) == 0 {
				t.Fatalf("%s: redone: got\n%s\nwant\n%s", name, now, want)
			}
		}
		tree.Close()
	}
}

func tryUndo(tree *Tree, store *Store, cs Changes) (did Changes, left map[string]Why, err error) {
	r, err := Prepare(context.Background(), tree.Dir, store, cs)
	if err != nil {
		return nil, nil, err
	}
	left = map[string]Why{}
	for _, s := range r.Steps {
		if s.Why != Fits {
			left[s.Path] = s.Why
		}
	}
	did, err = r.Apply(context.Background(), func(s Step) bool { return s.Why == Fits })
	return did, left, errors.Join(err, r.Close())
}
