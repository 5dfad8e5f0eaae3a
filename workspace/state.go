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
)

// state is the directory in which the package stores for itself. See doc.go
// for what lies where.
type state struct {
	dir string
	opt Options

	locks [lockCount]chan struct{} // of this process, before the file's

	ownerOnce sync.Once
	owner     *owner
	ownerErr  error
	number    atomic.Int64 // of temporary files

	kept keptSet

	pruning sync.WaitGroup
	stop    context.CancelFunc // ends pruning
	ctx     context.Context
}

const lockCount = 256

func openState(o Options) (*state, error) {
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
	s := &state{dir: dir, opt: o}
	for _, sub := range []string{"locks", "kept", "backups", "staged", "owners"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, s.fault("state directory "+Quote(dir), err)
		}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for i := range s.locks {
		s.locks[i] = make(chan struct{}, 1)
	}
	return s, nil
}

// defaultState is stet's directory under the XDG state directory.
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

func (s *state) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

func (s *state) self() (atomicfile.Stat, error) {
	d, err := atomicfile.OpenDir(s.dir)
	if err != nil {
		return atomicfile.Stat{}, err
	}
	defer d.Close()
	return d.Self()
}

func (s *state) close() error {
	s.stop()
	s.pruning.Wait()
	if s.owner == nil {
		return nil
	}
	return s.owner.close()
}

// lock takes the advisory lock of a name in a directory, for this process and
// among those that share the state directory, and returns what gives it back.
// It is held while a write is prepared, so that of two writes to one file the
// second fails early; what keeps writes apart is alone. Files share 256 locks, so
// nothing that holds one may ask for another. (FILE-14)
func (s *state) lock(ctx context.Context, dir atomicfile.Stat, name string) (func(), error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %d %s", dir.Dev, dir.Ino, fold(name))
	n := h.Sum32() % lockCount
	select {
	case s.locks[n] <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fl := flock.New(s.path("locks", fmt.Sprintf("%02x", n)), flock.SetPermissions(0o600))
	ok, err := fl.TryLockContext(ctx, time.Millisecond)
	if err == nil && !ok {
		err = errors.New("the file's lock cannot be had")
	}
	if err != nil {
		<-s.locks[n]
		return nil, s.fault("lock the file", err)
	}
	return func() {
		_ = fl.Close()
		<-s.locks[n]
	}, nil
}

// randomName returns n random bytes in hex.
func randomName(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// tempName returns a name for a temporary file in dir, a path relative to the
// root at rootPath, and records that it may be there. Whoever starts after a
// crash finds it by the record.
func (s *state) tempName(rootPath, dir string) (string, error) {
	s.ownerOnce.Do(func() { s.owner, s.ownerErr = newOwner(s, rootPath) })
	if s.ownerErr != nil {
		return "", s.fault("record the write", s.ownerErr)
	}
	if err := s.owner.record(dir); err != nil {
		return "", s.fault("record the write", err)
	}
	return tempPrefix + s.owner.id + "-" + strconv.FormatInt(s.number.Add(1), 10) + tempEnd, nil
}

const (
	tempPrefix = ".stet-"
	tempEnd    = ".tmp"
)
