package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// state is the package's data outside of the tree: the versions, the locks of files, and the owner. The owner's record is
// used to find temporary files after a crash. doc.go lists the directories.
type state struct {
	stateDir
	tree     string // the real path of the root
	versions *versions

	locks [lockCount]*semaphore.Weighted // locks of this process; each is taken before its lock file

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
		s.locks[i] = semaphore.NewWeighted(1)
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
	if err := s.locks[n].Acquire(ctx, 1); err != nil {
		return nil, err
	}
	fl := flock.New(s.path("locks", fmt.Sprintf("%02x", n)), flock.SetPermissions(0o600))
	ok, err := fl.TryLockContext(ctx, time.Millisecond)
	if err == nil && !ok {
		err = errors.New("the file's lock cannot be had")
	}
	if err != nil {
		s.locks[n].Release(1)
		return nil, s.fault("lock the file", err)
	}
	return func() {
		_ = fl.Close()
		s.locks[n].Release(1)
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

// owner is a record of the temporary files of one process. It is a file in owners, and it is locked while the process
// lives. Its first line is empty. The lock covers this line, because on Windows a process cannot read or write what another
// handle has locked. The other lines are JSON strings: the root's path, then each directory in which a temporary file was
// made.
type owner struct {
	id   string
	path string
	lock *flock.Flock
	file *os.File

	mu   sync.Mutex
	dirs map[string]bool
}

func newOwner(dir stateDir, rootPath string) (*owner, error) {
	for range 100 {
		o := &owner{id: randomName(6), dirs: map[string]bool{}}
		o.path = dir.path("owners", o.id)
		f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		o.file = f
		if _, err := f.WriteString("\n"); err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(o.path))
		}
		o.lock = flock.New(o.path, flock.SetPermissions(0o600))
		ok, err := o.lock.TryLock()
		// A sweep may have removed the file before it was locked.
		if _, gone := os.Stat(o.path); err != nil || !ok || gone != nil {
			_ = errors.Join(o.lock.Close(), f.Close(), os.Remove(o.path))
			if err != nil {
				return nil, err
			}
			continue
		}
		return o, o.line(rootPath)
	}
	return nil, errors.New("no name for an owner is free")
}

func (o *owner) line(s string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = o.file.Write(append(b, '\n'))
	return err
}

func (o *owner) record(dir string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dirs[dir] {
		return nil
	}
	if err := o.line(dir); err != nil {
		return err
	}
	o.dirs[dir] = true
	return nil
}

// close removes the record. There must be no temporary files left.
func (o *owner) close() error {
	return errors.Join(o.file.Close(), removeLocked(o.path, o.lock))
}

// removeLocked removes a file and releases the lock on it. Windows does not remove a file that is open.
func removeLocked(path string, l *flock.Flock) error {
	if runtime.GOOS == "windows" {
		return errors.Join(l.Close(), os.Remove(path))
	}
	return errors.Join(os.Remove(path), l.Close())
}

// sweep removes the files of dead processes from this tree and from the staged parts. The content of a temporary file is
// kept as a version. It may be the newest content of a file, if the process died during a commit.
func (r *Root) sweep() {
	s := r.state
	entries, err := os.ReadDir(s.path("owners"))
	if err != nil {
		return
	}
	for _, e := range entries {
		if s.owner != nil && e.Name() == s.owner.id {
			continue
		}
		file := s.path("owners", e.Name())
		fl := flock.New(file, flock.SetPermissions(0o600), flock.SetFlag(os.O_RDONLY))
		if ok, err := fl.TryLock(); err != nil || !ok {
			_ = fl.Close()
			continue
		}
		if r.sweepOwner(file, e.Name()) {
			_ = removeLocked(file, fl)
		}
		_ = fl.Close()
	}
}

// sweepOwner removes the files of one owner. It reports whether all of them are removed.
func (r *Root) sweepOwner(file, id string) bool {
	staged, _ := filepath.Glob(r.state.path("staged", id+"-*"))
	for _, f := range staged {
		_ = os.Remove(f)
	}
	data, err := readOwner(file)
	if err != nil {
		return false
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	first := true
	for lines.Scan() {
		var s string
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			continue // the crash cut this line off: no file was made after it
		}
		if first {
			first = false
			if s != r.prefixes[0] {
				_, err := os.Stat(s)
				return errors.Is(err, os.ErrNotExist) // files in another tree are removed when that tree is opened
			}
			continue
		}
		r.sweepDir(s, tempPrefix+id+"-")
	}
	return true
}

// readOwner reads a record that this process has locked.
func readOwner(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if runtime.GOOS == "windows" { // the first byte is locked
		if _, err := f.Seek(1, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(f)
}

func (r *Root) sweepDir(dir, prefix string) {
	pl, err := r.resolve(path.Join(dir, "x"), resolving{})
	if err != nil {
		return
	}
	defer pl.close()
	if unlock, err := pl.dir.TryLock(); err == nil {
		defer unlock() // otherwise another process could break the same claims
	}
	list, err := pl.dir.List()
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1)
	for _, name := range names {
		switch {
		case !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, tempEnd):
			continue
		case strings.HasPrefix(name, prefix):
			r.keepTempFile(pl.dir, name)
		case !claimOf(pl.dir, name, prefix):
			continue
		}
		if err := pl.dir.Remove(name); err == nil {
			r.opt.Log.Info("removed what a killed process left", "dir", dir, "name", name)
		}
	}
}

// claimOf reports whether name is the claim of a temporary file with that prefix.
func claimOf(dir *atomicfile.Dir, name, prefix string) bool {
	temp, err := dir.Readlink(name)
	return err == nil && strings.HasPrefix(temp, prefix)
}

func (r *Root) keepTempFile(dir *atomicfile.Dir, name string) {
	f, err := dir.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := atomicfile.StatFile(f)
	if err != nil || !st.Mode.IsRegular() || st.Size == 0 || st.Size > r.opt.PartsLimit {
		return
	}
	v, _, err := sum(context.Background(), f)
	if err == nil {
		_ = r.state.versions.keep(content{r: f, size: st.Size, version: v})
	}
}
