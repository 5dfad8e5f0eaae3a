package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a workspace with a state directory beside it.
type tree struct {
	*Root
	t   testing.TB
	dir string // of the root
	out string // a directory beside the root, so outside of it
}

func newTree(t testing.TB, o Options) *tree {
	t.Helper()
	base := t.TempDir()
	tr := &tree{t: t, dir: filepath.Join(base, "root"), out: filepath.Join(base, "outside")}
	for _, d := range []string{tr.dir, tr.out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if o.State == "" {
		o.State = filepath.Join(base, "state")
	}
	root, err := Open(tr.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	tr.Root = root
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// put writes a file directly, without the Root.
func (tr *tree) put(name, text string) {
	tr.t.Helper()
	file := tr.abs(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

// get reads a file directly, without the Root.
func (tr *tree) get(name string) string {
	tr.t.Helper()
	b, err := os.ReadFile(tr.abs(name))
	if err != nil {
		tr.t.Fatal(err)
	}
	return string(b)
}

func (tr *tree) abs(name string) string { return filepath.Join(tr.dir, filepath.FromSlash(name)) }

func (tr *tree) link(to, name string) {
	tr.t.Helper()
	if err := os.Symlink(to, tr.abs(name)); err != nil {
		tr.t.Fatal(err)
	}
}

// path parses a path that must be valid.
func (tr *tree) path(s string) Path {
	tr.t.Helper()
	p, err := tr.Root.Path(s)
	if err != nil {
		tr.t.Fatal(err)
	}
	return p
}

func (tr *tree) read(name string) (string, error) {
	c, err := tr.ReadAll(context.Background(), tr.path(name))
	return string(c.Data), err
}

func (tr *tree) write(name, text string, was Version, o WriteMode) (Written, error) {
	return tr.Write(context.Background(), tr.path(name), []byte(text), was, o)
}

// mustWrite makes or replaces a file through the Root.
func (tr *tree) mustWrite(name, text string, was Version, o WriteMode) Written {
	tr.t.Helper()
	w, err := tr.write(name, text, was, o)
	if err != nil {
		tr.t.Fatal(err)
	}
	return w
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// keep stores a version without a write.
func keep(r *Root, text string) (Version, error) {
	v := VersionOf([]byte(text))
	return v, r.state.versions.keep(contentOf([]byte(text), v))
}

// noTempFiles checks that no temporary file is left in the tree.
func (tr *tree) noTempFiles() {
	tr.t.Helper()
	err := filepath.WalkDir(tr.dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
			tr.t.Errorf("left behind: %s", d.Name())
		}
		return err
	})
	if err != nil {
		tr.t.Error(err)
	}
}

// soak reports whether the long version of the tests is wanted.
func soak() bool { return os.Getenv("STET_SOAK") != "" }
