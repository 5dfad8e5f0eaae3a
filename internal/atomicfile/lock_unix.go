//go:build linux || darwin

package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// TryLock takes the advisory lock of the directory itself, by flock on a descriptor of
// its own. It excludes every other holder, also in this process, and makes nothing in
// the directory. ErrLocked says that it is held elsewhere. errors.ErrUnsupported says
// that the file system has no such locks, or that the directory may not be read. The
// function that is returned gives the lock back.
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
