package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/ctxlock"
)

// state is the package's data outside of the tree: the versions, the locks of files, and the owner. The owner's record is
// used to find temporary files after a crash. doc.go lists the directories.
type state struct {
	stateDir
	tree     string // the real path of the root
	versions *versions

	locks [lockCount]ctxlock.Lock // locks of this process; each is taken before its lock file

	ownerOnce sync.Once
	owner     *owner
	ownerErr  error
	number    atomic.Int64 // number of the last temporary file
}

const lockCount = 256

// stateDir is the path of a state directory.
type stateDir string

func (d stateDir) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// fault makes an error of the state directory.
func (d stateDir) fault(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &fault{what, string(d), err}
}

// openState opens the state directory for the tree at a path.
func openState(o Options, tree string) (*state, error) {
	dir := o.State
	if dir == "" {
		var err error
		if dir, err = defaultState(); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &state{stateDir: stateDir(dir), tree: tree}
	for _, sub := range []string{"locks", "kept", "backups", "staged", "owners"} {
		if err := os.MkdirAll(s.path(sub), 0o700); err != nil {
			return nil, s.fault("state directory "+Quote(dir), err)
		}
	}
	s.versions = openVersions(s.stateDir, o)
	for i := range s.locks {
		s.locks[i] = ctxlock.New()
	}
	return s, nil
}

// defaultState returns stet's directory in the XDG state directory.
func defaultState() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "stet"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "stet"), nil
}

// stat returns the data of the directory itself.
func (d stateDir) stat() (atomicfile.Stat, error) {
	dir, err := atomicfile.OpenDir(string(d))
	if err != nil {
		return atomicfile.Stat{}, err
	}
	defer dir.Close()
	return dir.Self()
}

func (s *state) close() error {
	s.versions.close()
	if s.owner == nil {
		return nil
	}
	return s.owner.close()
}

// lock takes the advisory lock of a name in a directory. The lock works in this process and among the processes that share
// the state directory. lock returns the function that releases it. The lock is held while a write is prepared, so that the
// second of two writes to a file fails early. fileChange.commit is what makes concurrent writes safe. Files share 256
// locks: a holder of one must not take another.
func (s *state) lock(ctx context.Context, dir atomicfile.Stat, name string) (func(), error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %d %s", dir.Dev, dir.Ino, fold(name))
	n := h.Sum32() % lockCount
	if err := s.locks[n].Lock(ctx); err != nil {
		return nil, err
	}
	fl := flock.New(s.path("locks", fmt.Sprintf("%02x", n)), flock.SetPermissions(0o600))
	ok, err := fl.TryLockContext(ctx, time.Millisecond)
	if err == nil && !ok {
		err = errors.New("the file's lock cannot be had")
	}
	if err != nil {
		s.locks[n].Unlock()
		return nil, s.fault("lock the file", err)
	}
	return func() {
		_ = fl.Close()
		s.locks[n].Unlock()
	}, nil
}

// The name of a temporary file in the tree is tempPrefix, the owner, "-", a number, and tempEnd.
const (
	tempPrefix = ".stet-"
	tempEnd    = ".tmp"
)

// tempName returns a name for a temporary file in dir, a path relative to the root. It first records the directory, so that
// the next Open finds the file after a crash.
func (s *state) tempName(dir string) (string, error) {
	s.ownerOnce.Do(func() { s.owner, s.ownerErr = newOwner(s.stateDir, s.tree) })
	if s.ownerErr != nil {
		return "", s.fault("record the write", s.ownerErr)
	}
	if err := s.owner.record(dir); err != nil {
		return "", s.fault("record the write", err)
	}
	return tempPrefix + s.owner.id + "-" + strconv.FormatInt(s.number.Add(1), 10) + tempEnd, nil
}

// randomName returns n random bytes in hex.
func randomName(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
