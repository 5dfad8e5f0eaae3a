//go:build linux || darwin

package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// TryLock takes the advisory lock of the directory itself, with flock on a
// descriptor of its own: it excludes every other holder, also one in this
// process, and nothing is made in the directory. ErrLocked says that another one
// has it; errors.ErrUnsupported that it cannot be had: the file system has no
// such locks, or the directory may not be read. The function that is returned
// gives the lock back.
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
