//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Dir is an open directory. It may be used by several goroutines until it is
// closed.
type Dir struct {
	root  *os.Root
	syncs syncs
}

// OpenDir opens a directory by any path, links followed.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

// Close releases the directory. It must be called once, when no goroutine uses it any more.
func (d *Dir) Close() error { return d.root.Close() }

// Sub opens the directory of this name. ErrLink and ErrNotDir say that the name is something else.
func (d *Dir) Sub(name string) (*Dir, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := wantDir(before); err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// A link may have replaced the name meanwhile.
	if after, err := root.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = root.Close()
		return nil, ErrLink
	}
	return &Dir{root, d.syncs}, nil
}

func wantDir(fi fs.FileInfo) error {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case !fi.IsDir():
		return ErrNotDir
	}
	return nil
}

// Find opens the directory at a path of several components below d with one system call. errors.ErrUnsupported says that the system
// has no such call.
func (d *Dir) Find(path string) (*Dir, error) {
	if strings.Contains(path, "/") {
		return nil, errors.ErrUnsupported
	}
	return d.Sub(path)
}

// Open opens a file for reading, at a path below d, and never blocks. Paths of several components are unsupported, as in Find.
func (d *Dir) Open(path string) (*os.File, error) {
	if strings.Contains(path, "/") {
		return nil, errors.ErrUnsupported
	}
	before, err := d.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	f, err := d.root.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		_ = f.Close()
		return nil, ErrLink
	}
	return f, nil
}

// StepByStep does nothing: these systems always work step by step.
func (d *Dir) StepByStep() {}

// Stat describes the name itself, also if it is a link.
func (d *Dir) Stat(name string) (Stat, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return Stat{}, err
	}
	return statOf(fi), nil
}

// Self describes the directory itself.
func (d *Dir) Self() (Stat, error) { return d.Stat(".") }

// StatFile describes an open file.
func StatFile(f *os.File) (Stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return statOf(fi), nil
}

// Readlink returns the target text of the link of this name.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// Symlink makes a symbolic link to the text to. The name must be free: otherwise it returns fs.ErrExist.
func (d *Dir) Symlink(to, name string) error { return d.root.Symlink(to, name) }

// Writable returns nil if this process may write to the file of this name, and otherwise the reason. fs.ErrNotExist says that the
// name does not exist. For a directory it always returns nil.
func (d *Dir) Writable(name string) error {
	if fi, err := d.root.Lstat(name); err != nil || fi.IsDir() {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Mkdir makes a directory with the permissions perm, reduced by the umask.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm.Perm()) }

// Remove removes a name that is not a directory.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	st, err := d.Stat(name)
	if err != nil {
		return err
	}
	if !st.Mode.IsDir() {
		return ErrNotDir
	}
	return d.root.Remove(name)
}

// Sync makes the names in the directory durable, if the system can.
func (d *Dir) Sync() error {
	f, err := d.List()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.syncs.of(f); d.syncs != nil {
		return err
	}
	return nil // some systems refuse to sync a directory
}

// List opens the directory for reading its entries.
func (d *Dir) List() (*os.File, error) { return d.root.Open(".") }
