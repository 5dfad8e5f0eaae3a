package agents

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// temporary begins the names of directories for one run of an agent. As long as stet runs it holds a lock on the file lockName there: a process
// id would say nothing in another container that has the same directory of temporary files.
const (
	temporary = "stet-wrap-"
	lockName  = "lock"
)

// makeTemporary makes a directory for one run of an agent. remove removes it.
func makeTemporary() (dir string, remove func(), err error) {
	var lock *flock.Flock
	if dir, err = os.MkdirTemp("", temporary); err != nil {
		return "", nil, err
	}
	name := filepath.Join(dir, lockName)
	if runtime.GOOS == "windows" { // a file that is open cannot be renamed there, and not be removed by removeLeft either
		lock = flock.New(name)
		err = lock.Lock()
	} else {
		lock = flock.New(name + ".new")
		if err = lock.Lock(); err == nil {
			err = os.Rename(lock.Path(), name) // under its own name the file is never there without the lock
		}
	}
	remove = func() { _ = errors.Join(lock.Close(), os.RemoveAll(dir)) }
	if err != nil {
		remove()
	}
	return dir, remove, err
}

// removeLeft removes directories in dir that killed stet processes left. They may hold keys.
func removeLeft(dir string) {
	entries, _ := os.ReadDir(dir) // an unreadable directory has no entries
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), temporary) {
			continue
		}
		at := filepath.Join(dir, e.Name())
		lock := flock.New(filepath.Join(at, lockName), flock.SetFlag(os.O_RDONLY)) // it is not made: another user's directory stays
		if mine, err := lock.TryLock(); mine && err == nil {
			_ = errors.Join(lock.Close(), os.RemoveAll(at))
		}
	}
}
