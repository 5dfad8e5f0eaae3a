//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

func (d *Dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
}

func (t *Temp) exchange(string, Accept) error { return errors.ErrUnsupported }

// MoveOut is unsupported on these systems.
func (d *Dir) MoveOut(name, path string) error { return errors.ErrUnsupported }

// beforeRename closes the file, because some systems do not rename open files.
func (t *Temp) beforeRename() error { return t.file.Close() }

func (d *Dir) rename(from, to string) error { return d.root.Rename(from, to) }

// RenameNew renames a file to a free name. If the name is not free, it returns fs.ErrExist. It makes a second link, which fails if
// the name exists. If the system has no links, it checks the name before it renames.
func (d *Dir) RenameNew(from, to string) error {
	err := d.root.Link(from, to)
	if err == nil {
		return d.root.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := d.root.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return d.root.Rename(from, to)
}

// Exchange returns errors.ErrUnsupported.
func (d *Dir) Exchange(string, string) error { return errors.ErrUnsupported }
