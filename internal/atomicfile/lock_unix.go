//go:build linux || darwin

package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// TryLock takes the advisory lock of the directory, by flock on a separate descriptor. It excludes every other holder, also in this
// process, and makes no file. ErrLocked says that another holder has the lock. errors.ErrUnsupported says that the file system has
// no such locks, or that the directory may not be read. unlock releases the lock.
func (d *Dir) TryLock() (unlock func(), err error) {
	f, err := d.List()
	if err != nil {
		return nil, errors.Join(errors.ErrUnsupported, err)
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, errors.Join(errors.ErrUnsupported, err)
}
