package workspace

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Options configures a Root. The zero value is the default.
type Options struct {
	// State is the directory for what the package stores for itself, made
	// where it is missing. Empty: stet's under XDG_STATE_HOME, or under
	// ~/.local/state. Several processes may share it.
	State string

	ReadLimit  int64 // bytes of a file that is read whole; 0: 10 MB
	WriteLimit int64 // bytes of a write; 0: 5 MB
	PartsLimit int64 // bytes of a write that comes in parts; 0: 100 MB

	KeepBytes int64         // of kept versions, and as much of backups; 0: 512 MB
	KeepAge   time.Duration // of both; 0: 30 days

	// CountTime is how long a page may take to count the lines after it;
	// 0: 2 s. (READ-4)
	CountTime time.Duration

	// Control are more names that make something run, beside the known ones:
	// "name" anywhere, or "dir/name" at the end of a path, or "dir/" for
	// everything below. Case does not matter.
	Control []string

	Log *slog.Logger // nil: silence
}

const mb = 1 << 20

func (o Options) withDefaults() Options {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.ReadLimit, 10*mb)
	set(&o.WriteLimit, 5*mb)
	set(&o.PartsLimit, 100*mb)
	set(&o.KeepBytes, 512*mb)
	if o.KeepAge == 0 {
		o.KeepAge = 30 * 24 * time.Hour
	}
	if o.CountTime == 0 {
		o.CountTime = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Root is an open workspace. It may be used by several goroutines.
type Root struct {
	opt      Options
	dir      *atomicfile.Dir
	self     atomicfile.Stat
	opened   fs.FileInfo // the root as it was opened
	prefixes []string    // absolute paths of the root, with slashes: the real one, the one given
	state    *state
	rules    classes
	pages    indexes
	seams    seams // for tests

	mu      sync.Mutex
	gone    bool           // guarded by mu: the root was not at its path when that was checked last
	closed  bool           // guarded by mu
	running sync.WaitGroup // operations; added to under mu while not closed
	closing sync.Once
}

// Open opens the directory tree at dir.
func Open(dir string, o Options) (*Root, error) {
	o = o.withDefaults()
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fail("open", dir, err, "")
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, wrap("open", dir, err)
	}
	d, err := atomicfile.OpenDir(real)
	if err != nil {
		return nil, wrap("open", dir, err)
	}
	r := &Root{opt: o, dir: d, prefixes: []string{filepath.ToSlash(real)}}
	if given != real {
		r.prefixes = append(r.prefixes, filepath.ToSlash(given))
	}
	if r.self, err = d.Self(); err == nil {
		r.opened, err = os.Stat(real)
	}
	if err == nil {
		r.state, err = openState(o, r.prefixes[0])
	}
	if err != nil {
		return nil, errors.Join(wrap("open", dir, err), d.Close())
	}
	r.rules = newClasses(o.Control, r.statePaths())
	r.sweep()
	return r, nil
}

// statePaths are the paths of the state directory inside the tree, if it is there.
func (r *Root) statePaths() []string {
	var inside []string
	dirs := []string{string(r.state.stateDir)}
	if real, err := filepath.EvalSymlinks(string(r.state.stateDir)); err == nil {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if rel, ok := r.inside(filepath.ToSlash(dir)); ok {
			inside = append(inside, rel)
		}
	}
	return inside
}

// Dir returns the real absolute path of the root, to show it and to start programs in
// it. Files must not be opened by it.
func (r *Root) Dir() string { return filepath.FromSlash(r.prefixes[0]) }

// WriteLimit and PartsLimit are those of the Root's Options, for callers that refuse
// a write before a person is asked about it.
func (r *Root) WriteLimit() int64 { return r.opt.WriteLimit }

// PartsLimit is the limit of a write that comes in parts: see WriteLimit.
func (r *Root) PartsLimit() int64 { return r.opt.PartsLimit }

// Close waits for what is under way and closes the root. Calls after that fail with
// fs.ErrClosed, and so do calls that the visitor of a walk makes meanwhile. A second
// Close does nothing.
func (r *Root) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	var err error
	r.closing.Do(func() {
		r.running.Wait()
		err = errors.Join(r.state.close(), r.dir.Close())
	})
	return err
}

// do runs an operation on a path while the root is open, and makes its error an *Error.
func do[T any](r *Root, op, name string, run func() (T, error)) (T, error) {
	if err := r.enter(); err != nil {
		var none T
		return none, wrap(op, name, err)
	}
	defer r.leave()
	t, err := run()
	return t, wrap(op, name, err)
}

// reading is do for an operation on a file that is open for reading.
func reading[T any](r *Root, p Path, run func(*opened) (T, error)) (T, error) {
	return do(r, "read", p.name, func() (t T, err error) {
		f, err := r.open(p)
		if err != nil {
			return t, err
		}
		defer f.Close()
		return run(f)
	})
}

// enter begins an operation; leave ends it.
func (r *Root) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fs.ErrClosed
	}
	if err := r.inPlace(); err != nil {
		return err
	}
	r.running.Add(1)
	return nil
}

func (r *Root) leave() { r.running.Done() }

// inPlace checks that the root's path still leads to the directory that was opened.
// Otherwise files would be read and written that a user does not see at that path.
// r.mu is held.
func (r *Root) inPlace() error {
	was := r.gone
	now, err := os.Stat(r.Dir())
	r.gone = err != nil || !os.SameFile(now, r.opened)
	if !r.gone {
		return nil
	}
	detail := "another directory is in its place"
	if err != nil {
		detail = "its directory was renamed or deleted"
	}
	detail += "; put the directory back that stet was started on, or start stet again"
	if !was {
		r.opt.Log.Error("the workspace is gone: every call is refused", "dir", r.Dir(), "why", detail)
	}
	return because(ErrRootGone, detail)
}
