package atomicfile

import (
	"errors"
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

// exchange is Over by one renameat2, with a look at what was displaced.
func (t *Temp) exchange(name string, accept Accept) error {
	if err := t.swap(name); err != nil {
		return err
	}
	err := t.dir.look(t.name, t.name, accept)
	if err == nil {
		t.kept = true
		return t.dir.discard(t.name)
	}
	return errors.Join(err, t.putBack(name))
}

func (t *Temp) swap(name string) error {
	err := unix.Renameat2(t.dir.fd, t.name, t.dir.fd, name, unix.RENAME_EXCHANGE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return errors.ErrUnsupported
	}
	return t.dir.fail("exchange", name, err)
}

// putBack exchanges again after a file was displaced that should not have
// been. When somebody has put yet another one in our file's place meanwhile,
// that is the newest and stays, and the one displaced is what it was to
// replace.
func (t *Temp) putBack(name string) error {
	ours, err := t.Stat()
	if err != nil {
		return err
	}
	for range 8 {
		err := t.swap(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile: so be it
		}
		if err != nil {
			return err
		}
		if now, err := t.dir.Stat(t.name); err != nil || now.same(ours) {
			return err
		}
	}
	return nil
}

// MoveOut gives the file of this name another place in the same file system,
// at any path, over what is there. Unsupported systems say so.
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

// renameNew renames where the new name is free.
func (d *Dir) renameNew(from, to string) error {
	err := unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		if err = unix.Linkat(d.fd, from, d.fd, to, 0); err == nil {
			return d.Remove(from)
		}
	}
	return d.fail("rename", to, err)
}
