package workspace

import (
	"errors"
	"os"
	"testing"
)

// TestInspectWhileReplaced lets another program remove a file and make it again, as a git checkout does. Inspect returns a
// writable file, or none. It never returns a file without permission.
func TestInspectWhileReplaced(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", "text")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := errors.Join(os.Remove(tr.abs("f")), os.WriteFile(tr.abs("f"), []byte("text"), 0o644)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 5000 {
		target, err := tr.Inspect(tr.path("f"))
		if errors.Is(err, ErrNotFound) && !target.Exists() && target.Parent.Writable {
			continue
		}
		if err != nil || !target.Writable {
			t.Errorf("%+v, %v", target, err)
			break
		}
	}
	close(stop)
	<-done
}

// TestInspectWhatIsToBeMade checks that Inspect says which directories a write would make, and what is above them.
// (FILE-13)
func TestInspectWhatIsToBeMade(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("dir/file", "text")
	tr.link("dir", "link")
	tr.link("gone/../dir/new", "dangling")
	for _, c := range []struct {
		name, path, parent string
		kind               Kind // of the parent
		newDirs            int
	}{
		{"new", "new", ".", Directory, 0},
		{"dir/new", "dir/new", "dir", Directory, 0},
		{"link/a/new", "dir/a/new", "dir", Directory, 1},
		{"a/b/new", "a/b/new", ".", Directory, 2},
		{"dir/file/new", "dir/file/new", "dir/file", File, 0},
		{"link/file/a/new", "link/file/a/new", "dir/file", File, 0},
		{"dangling", "dir/new", ".", Directory, 1},
	} {
		got, err := tr.Inspect(tr.path(c.name))
		wantErr(t, c.name, err, ErrNotFound)
		p := got.Parent
		if got.Exists() || got.Path.String() != c.path || p.Path.String() != c.parent || p.Kind != c.kind ||
			got.NewDirs != c.newDirs || p.Writable != (c.kind == Directory) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
