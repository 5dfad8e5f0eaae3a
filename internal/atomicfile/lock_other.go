//go:build !linux && !darwin

package atomicfile

import "errors"

// TryLock is unsupported: directories have no locks here.
func (d *Dir) TryLock() (unlock func(), err error) { return nil, errors.ErrUnsupported }
