package workspace

import (
	"cmp"
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
	// State is the directory for the package's own data. It is made if it is missing. Empty: stet's directory in
	// XDG_STATE_HOME, or in ~/.local/state. Several processes may share it.
	State string

	ReadLimit  int64 // size limit in bytes of a file that is read completely; 0: 10 MB
	WriteLimit int64 // size limit in bytes of a write; 0: 5 MB
	PartsLimit int64 // size limit in bytes of a write that comes in parts; 0: 100 MB

	KeepBytes int64         // size limit in bytes of kept versions, and of backups; 0: 512 MB
	KeepAge   time.Duration // age limit of both; 0: 30 days

	// CountTime is how long a page may take to count the lines after it; 0: 2 s.
	CountTime time.Duration

	// Control are additional names of control files: "name" in any directory, "dir/name" at the end of a path, or "dir/"
	// for everything below. Case does not matter.
	Control []string

	Log *slog.Logger // nil: nothing is logged
}

const mb = 1 << 20

func (o Options) withDefaults() Options {
	set := func(v *int64, d int64) {
		*v = cmp.Or(*v, d)
	}
	set(&o.ReadLimit, 10*mb)
	set(&o.WriteLimit, 5*mb)
	set(&o.PartsLimit, 100*mb)
	set(&o.KeepBytes, 512*mb)
	o.KeepAge = cmp.Or(o.KeepAge, 30*24*time.Hour)
	o.CountTime = cmp.Or(o.CountTime, 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Root is an open workspace. Several goroutines may use it.
type Root struct {
	opt      Options
	dir      *atomicfile.Dir
	self     atomicfile.Stat
	opened   fs.FileInfo // the root when it was opened
	prefixes []string    // absolute paths of the root, with slashes: the real one, then the given one
	state    *state
	rules    classes
	pages    indexes
	seams    seams // for tests

	mu      sync.Mutex
	gone    bool           // guarded by mu: at the last check, the root was not at its path
	closed  bool           // guarded by mu
	running sync.WaitGroup // running operations; increased under mu while not closed
	closing sync.Once
}

// Open opens the directory tree at dir, which is not the root of a file system. The caller must call Close.
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
	if filepath.Dir(real) == real {
		return nil, fail("open", dir, ErrProtected, "the root of a file system is no workspace")
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

// statePaths returns the paths of the state directory in the tree, if it is inside.
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

// Dir returns the real absolute path of the root, to display it and to start programs in it. It must not be used to open
// files.
func (r *Root) Dir() string { return filepath.FromSlash(r.prefixes[0]) }

// ReadLimit is Options.ReadLimit.
func (r *Root) ReadLimit() int64 { return r.opt.ReadLimit }

// InState returns the path of a file in the state directory, relative to it, with slashes. Where that directory is does not concern
// an agent.
func (r *Root) InState(file string) string {
	rel, err := filepath.Rel(string(r.state.stateDir), file)
	if file == "" || err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// WriteLimit returns the limit in the Root's Options, for callers that refuse a larger write before a person is asked.
func (r *Root) WriteLimit() int64 { return r.opt.WriteLimit }

// PartsLimit returns the limit of a write that comes in parts: see WriteLimit.
func (r *Root) PartsLimit() int64 { return r.opt.PartsLimit }

// Close waits for running operations and closes the root. Calls after that fail with fs.ErrClosed, and so do calls of a
// walk's visitor while Close waits. A second Close does nothing.
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

// do runs an operation on a path, and makes its error an *Error. The root is not closed during the operation.
func do[T any](r *Root, op, name string, run func() (T, error)) (T, error) {
	if err := r.enter(); err != nil {
		var none T
		return none, wrap(op, name, err)
	}
	defer r.leave()
	t, err := run()
	return t, wrap(op, name, err)
}

// reading is do for an operation on a file that is opened for reading.
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

// enter begins an operation, and leave ends it.
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

// inPlace checks that the root's path still leads to the opened directory. Otherwise stet would read and write files that
// the user does not see at that path. The caller holds r.mu.
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
