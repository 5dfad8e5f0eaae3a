//go:build !linux && !darwin

package atomicfile

import "errors"

// TryLock is unsupported: these systems have no directory locks.
func (d *Dir) TryLock() (unlock func(), err error) { return nil, errors.ErrUnsupported }
