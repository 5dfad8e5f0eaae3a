package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func (d *Dir) create(name string, perm fs.FileMode) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		flags := unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		return unix.Openat(d.fd, name, flags, uint32(perm.Perm()))
	})
	if err != nil {
		return nil, d.fail("create", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// exchange is Over with one renameat2. Then it checks the replaced file.
func (t *Temp) exchange(name string, accept Accept) error {
	if err := t.dir.Exchange(t.name, name); err != nil {
		return err
	}
	err := t.dir.look(t.name, t.name, accept)
	if err == nil {
		t.kept = true
		return t.dir.discard(t.name)
	}
	if berr := t.putBack(name); berr != nil {
		t.kept = true // the replaced file keeps the temporary name: it may be the only copy
		err = errors.Join(err, fmt.Errorf("put %s back from %s: %w", name, t.name, berr))
	}
	return err
}

// Exchange gives each of two names, of any kind, what the other one has. errors.ErrUnsupported says that the system cannot.
func (d *Dir) Exchange(one, other string) error {
	err := unix.Renameat2(d.fd, one, d.fd, other, unix.RENAME_EXCHANGE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return errors.ErrUnsupported
	}
	return d.fail("exchange", other, err)
}

// putBack exchanges again after the wrong file was replaced. Another program may rename files to name meanwhile. Such a file is the
// newest and stays, or is restored. The file that it has replaced is removed with the temporary name.
func (t *Temp) putBack(name string) error {
	there, err := t.Stat() // the file expected at name: ours
	if err != nil {
		return err
	}
	for range 8 {
		back, err := t.dir.Stat(t.name)
		if err != nil {
			return err
		}
		now, err := t.dir.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // another program has removed it
		case err != nil:
			return err
		case !now.Same(there):
			return nil // another program has replaced it
		}
		if err := t.dir.Exchange(t.name, name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if now, err = t.dir.Stat(t.name); err != nil || now.Same(there) {
			return err
		}
		there = back // the replaced file is newer, so it is restored
	}
	return errors.New("the file was replaced again and again")
}

// MoveOut moves the file of this name to any path in the same file system, and replaces a file there.
func (d *Dir) MoveOut(name, path string) error {
	if err := unix.Renameat(d.fd, name, unix.AT_FDCWD, path); err != nil {
		return d.fail("move", name, err)
	}
	return nil
}

func (t *Temp) beforeRename() error { return nil }

func (d *Dir) rename(from, to string) error {
	if err := unix.Renameat(d.fd, from, d.fd, to); err != nil {
		return d.fail("rename", to, err)
	}
	return nil
}

// RenameNew renames a file to a free name. If the name is not free, it returns fs.ErrExist.
func (d *Dir) RenameNew(from, to string) error {
	err := unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		if err = unix.Linkat(d.fd, from, d.fd, to, 0); err == nil {
			return d.Remove(from)
		}
		if _, there := d.Stat(to); err == unix.EPERM && errors.Is(there, fs.ErrNotExist) { // a file system without links
			return d.rename(from, to)
		}
	}
	return d.fail("rename", to, err)
}
