// Package snapshot knows what a command changed in a directory tree, and puts it back.
//
// A Tree holds a table of all names below a directory, with the system's data about each (see stamp). Before a command, it brings the table up to
// date and makes sure that the content of each file is kept somewhere. After the command it does so again: the difference is what the
// command changed.
//
// The content of a file is kept in one of two places. If it is the content that the checked-out commit has, git has it. Otherwise the Store has a
// copy. Files that git ignores are copied as far as a budget goes; what package managers and compilers fill is only listed.
// A content of git is copied into the Store as soon as a command has changed the file, because git may remove it later.
//
// Restore puts back what a list of Changes says, and only where each path is still as the command left it.
//
// What the package cannot know: changes outside of the tree, changes that a process makes after its command has ended, who of two writers
// at once wrote what, and extended attributes, owners and access lists. Git's own data is never read as files and never written; Refs says what a command moved there.
package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/gitignore"
)

// Tree follows the changes in a directory tree. Its methods may be called concurrently.
type Tree struct {
	Dir string // absolute, links resolved

	store  *Store
	log    *slog.Logger
	at     *atomicfile.Dir
	dev    uint64
	git    *git
	budget budget
	links  links
	limit  int64

	first    chan struct{} // closed when the first snapshot is done
	firstErr error
	stop     context.CancelFunc

	mu     sync.Mutex // held during an update
	root   *dir
	files  int // in the table
	most   int // of them
	watch  *watcher
	refs   Refs
	calls  map[*Call]bool // begun, and not ended
	closed bool
}

// Options are the options of Open. The zero value is usable.
type Options struct {
	Limit   int64 // bytes that the Store may have on disk; 0: DefaultLimit
	Files   int   // that the Tree may have; 0: DefaultFiles
	NoWatch bool  // read the tree at each call, even where directories can be watched
	NoGit   bool  // keep each content in the Store
	Log     *slog.Logger
}

// DefaultLimit is how many bytes a Store has on disk at most.
const DefaultLimit = 2 << 30

// ErrTooWide says that a directory is no project: a home, or the root of a file system. No snapshot is taken of it.
var ErrTooWide = errors.New("is a home directory or the root of a file system")

// ErrTooMany says that a directory has more files than a Tree may have in memory.
var ErrTooMany = errors.New("the workspace has too many files")

// DefaultFiles is how many files a Tree has at most. A million take about 150 MB of memory.
const DefaultFiles = 1_500_000

// Open begins to follow the tree below a directory. The first snapshot is taken in the background: see Ready.
func Open(name string, store *Store, o Options) (*Tree, error) {
	top, err := filepath.Abs(name)
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		return nil, err
	}
	if wide(top) {
		return nil, fmt.Errorf("%s %w", top, ErrTooWide)
	}
	at, err := atomicfile.OpenDir(top)
	if err != nil {
		return nil, err
	}
	self, err := at.Self()
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}
	t := &Tree{
		Dir: top, store: store, log: o.Log, at: at, dev: self.Dev, limit: o.Limit,
		first: make(chan struct{}), root: new(dir), calls: map[*Call]bool{}, links: links{targets: map[[32]byte]string{}},
	}
	if t.most = o.Files; t.most <= 0 {
		t.most = DefaultFiles
	}
	if t.limit <= 0 {
		t.limit = DefaultLimit
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	if !o.NoGit {
		t.git = openGit(ctx, top)
	}
	if !o.NoWatch {
		t.watch = newWatcher(top)
	}
	go t.begin(ctx)
	return t, nil
}

// wide reports whether a directory is a home, or has homes in it.
func wide(dir string) bool {
	home, _ := os.UserHomeDir()
	home, _ = filepath.EvalSymlinks(home)
	up := filepath.Dir(dir)
	if dir == up || home != "" && Contains(dir, home) {
		return true
	}
	return up == filepath.Clean("/home") || up == filepath.Clean("/Users")
}

// begin takes the first snapshot.
func (t *Tree) begin(ctx context.Context) {
	defer close(t.first)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lookAtGit(ctx)
	t.root.stale = true
	t.firstErr = t.update(ctx, true, func(Change) {})
}

// Ready returns a channel that is closed when the first snapshot is done.
func (t *Tree) Ready() <-chan struct{} { return t.first }

// Broken reports why the tree cannot be followed any more, and has to be opened again: its first snapshot failed, or another directory has its name.
func (t *Tree) Broken() error {
	select {
	case <-t.first:
		if t.firstErr != nil {
			return t.firstErr
		}
	default:
	}
	now, err := atomicfile.OpenDir(t.Dir)
	if err != nil {
		return err
	}
	defer now.Close()
	was, err := t.at.Self()
	is, err2 := now.Self()
	if err = errors.Join(err, err2); err == nil && !was.Same(is) {
		err = errors.New("another directory has the name of the workspace")
	}
	return err
}

// Close ends the watches and the first snapshot. Calls that are open end without a result.
func (t *Tree) Close() error {
	t.stop()
	<-t.first
	t.watch.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	t.git.close()
	return t.at.Close()
}

// Call is a command that is running, from Begin to End.
type Call struct {
	t       *Tree
	changes Changes
	early   map[string]*Node // what Begin has kept of named paths before the first snapshot was done
	refs    Refs             // before the call
	shared  bool
}

// Result is what a command changed.
type Result struct {
	Changes Changes

	// Shared says that another command ran at the same time, or that a change may be of one.
	Shared bool

	// Partial says that the first snapshot was not done when the command began: only the changes of named paths are known.
	Partial bool

	// Of git, after and before.
	Refs       Refs
	RefsBefore Refs
}

// Begin prepares for a command. paths are files that the command names, relative to the tree or absolute; they are kept at once if the first snapshot is not
// done. The error says why the command's changes will not be known.
func (t *Tree) Begin(ctx context.Context, paths ...string) (*Call, error) {
	c := &Call{t: t, changes: Changes{}}
	select {
	case <-t.first:
	default:
		c.early = map[string]*Node{}
		for _, p := range paths {
			if rel, ok := t.relative(p); ok {
				t.early(rel, c.early)
			}
		}
		return c, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.again(ctx); err != nil {
		return nil, err
	}
	c.refs, c.shared = t.refs, len(t.calls) > 0
	for other := range t.calls {
		other.shared = true
	}
	t.calls[c] = true
	return c, nil
}

// Share notes that a command which another Tree knows runs at the same time.
func (c *Call) Share() {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	c.shared = true
}

// maxEarly is how many files are kept before the first snapshot is done.
const maxEarly = 2000

// early keeps what is at a path, and below it.
func (t *Tree) early(p string, into map[string]*Node) {
	n, known := t.look(p)
	if !known {
		return
	}
	into[p] = n
	if n == nil || !n.Mode.IsDir() {
		return
	}
	at, err := openBelow(t.at, p)
	if err != nil {
		return
	}
	defer at.Close()
	all, _ := names(at)
	for _, name := range all {
		if name != ".git" && len(into) < maxEarly {
			t.early(path.Join(p, name), into)
		}
	}
}

// End returns what the command changed. It must be called once.
func (c *Call) End(ctx context.Context) (Result, error) { return c.until(ctx, true) }

// Restart returns what has changed until now, and has the command begin here. It changes nothing if the first snapshot was not done when it began.
func (c *Call) Restart(ctx context.Context) (Result, error) {
	if c.early != nil {
		return Result{}, nil
	}
	return c.until(ctx, false)
}

// until returns what has changed until now. After that the command has ended, or begins again.
func (c *Call) until(ctx context.Context, end bool) (Result, error) {
	t := c.t
	if c.early != nil {
		r := Result{Changes: Changes{}, Partial: true}
		for p, before := range c.early {
			if after, known := t.look(p); known {
				r.Changes.add(Change{p, before, after})
			}
		}
		return r, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.calls[c] { // it has ended
		return Result{}, nil
	}
	err := t.again(ctx)
	if end {
		delete(t.calls, c)
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{Changes: c.changes, Shared: c.shared, RefsBefore: c.refs, Refs: t.refs}
	t.twins(r.Changes)
	c.changes, c.refs = Changes{}, t.refs
	return r, nil
}

// twins finds the other names of the files that had or have several, for which a name came or went.
func (t *Tree) twins(cs Changes) {
	wanted := map[string][]*Node{} // by Node.Same
	for p, c := range cs {
		for _, n := range []*Node{c.Before, c.After} {
			if n != nil && n.Same != "" && (c.Before == nil || c.After == nil || c.Before.Same != c.After.Same) {
				n2 := *n
				wanted[n.Same] = append(wanted[n.Same], &n2)
				if n == c.Before {
					c.Before = &n2
				} else {
					c.After = &n2
				}
			}
		}
		cs[p] = c
	}
	if len(wanted) == 0 {
		return
	}
	t.root.each(func(d *dir) {
		for i := range d.files {
			same := strconv.FormatUint(d.files[i].stamp.ino, 10)
			p := path.Join(d.path, d.files[i].name)
			if c, changed := cs[p]; wanted[same] == nil || changed && (c.Before == nil || c.Before.Same != same) {
				continue // the number may be used again by another file
			}
			for _, n := range wanted[same] {
				n.Twin = p
			}
		}
	})
}

// again brings the table up to date and adds what changed to the open calls. The caller holds mu.
func (t *Tree) again(ctx context.Context) error {
	if t.closed {
		return fs.ErrClosed
	}
	if t.firstErr != nil {
		return fmt.Errorf("first snapshot: %w", t.firstErr)
	}
	t.lookAtGit(ctx)
	all := t.watch.sync()
	return t.update(ctx, all, func(c Change) {
		if len(t.calls) == 0 {
			return
		}
		c.Before, c.After = t.settle(c.Before), t.settle(c.After)
		for call := range t.calls {
			call.changes.add(c)
		}
	})
}

// lookAtGit finds out what git has checked out. The files whose content git may not have any more are to be kept in the Store.
func (t *Tree) lookAtGit(ctx context.Context) {
	t.refs = t.git.refs(ctx)
	gone := t.git.follow(ctx, t.refs.Commit)
	if gone == nil {
		return
	}
	t.root.each(func(d *dir) {
		for i := range d.files {
			if f := &d.files[i]; f.where == inGit && gone(f.sum) {
				f.missed, d.stale, d.alone = true, true, false
			}
		}
	})
}

// settle copies a content from git into the Store.
func (t *Tree) settle(n *Node) *Node {
	if n == nil || n.blob == "" {
		return n
	}
	out := *n
	out.blob = ""
	data, err := t.git.blob(n.blob)
	if err == nil && t.git.name(t.git.sum(data)) != n.blob { // git does not check what it reads
		err = fmt.Errorf("%w: git has another content under this name", ErrGone)
	}
	if err == nil {
		out.Sum, err = t.store.Put(data)
	}
	if err != nil {
		t.log.Warn("snapshot: a content of git is not kept", "blob", n.blob, "err", err)
	}
	return &out
}

// relative returns a path as the table has it. ok is false outside of the tree.
func (t *Tree) relative(p string) (rel string, ok bool) {
	if filepath.IsAbs(p) {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		r, err := filepath.Rel(t.Dir, p)
		if err != nil {
			return "", false
		}
		p = r
	}
	rel = path.Clean(filepath.ToSlash(p))
	return rel, validPath(rel) && rel != "."
}

// look returns what is at a path now, as lookAt, and keeps a file's content.
func (t *Tree) look(p string) (n *Node, known bool) {
	n, data, known := lookAt(t.at, p)
	if n != nil && data != nil {
		if _, err := t.store.Put(data); err != nil {
			n.Sum = ""
		}
	}
	return n, known
}

// lookAt returns what is at a path below a directory, and a file's content; nil if nothing is. A file that is larger than maxContent, or that
// changes all the time, has no Sum. known is false if permissions forbid to look.
func lookAt(root *atomicfile.Dir, p string) (n *Node, data []byte, known bool) {
	at, err := openBelow(root, path.Dir(p))
	if err != nil {
		return nil, nil, !errors.Is(err, fs.ErrPermission)
	}
	defer at.Close()
	st, err := at.Stat(path.Base(p))
	if err != nil {
		return nil, nil, !errors.Is(err, fs.ErrPermission)
	}
	n = &Node{Mode: st.Mode, now: stampOf(st).String()}
	switch {
	case st.Mode&fs.ModeSymlink != 0:
		n.Link, _ = at.Readlink(path.Base(p))
	case st.Mode.IsRegular():
		if n.Size = st.Size; st.Links > 1 {
			n.Same = strconv.FormatUint(st.Ino, 10)
		}
		data, s, err := readFile(at, path.Base(p))
		if err != nil {
			n.Stamp = n.now
			return n, nil, true
		}
		n.Mode, n.Size, n.now = s.mode, s.size, s.String()
		n.Sum = sumOf(data)
		return n, data, true
	}
	return n, nil, true
}

var errUnsteady = errors.New("the file is too large, or it changes while it is read")

// readFile reads a file as it was at one time, with its stamp.
func readFile(at *atomicfile.Dir, name string) ([]byte, stamp, error) {
	for range 3 {
		f, err := at.Open(name)
		if err != nil {
			return nil, stamp{}, err
		}
		data, s, err := readSteady(f)
		if _ = f.Close(); err == nil {
			return data, s, nil
		}
		if !errors.Is(err, errUnsteady) {
			return nil, stamp{}, err
		}
	}
	return nil, stamp{}, errUnsteady
}

func readSteady(f *os.File) ([]byte, stamp, error) {
	before, err := atomicfile.StatFile(f)
	if err != nil || !before.Mode.IsRegular() || before.Size > maxContent {
		return nil, stamp{}, errors.Join(err, errUnsteady)
	}
	data := make([]byte, before.Size)
	_, rerr := io.ReadFull(f, data)
	after, err := atomicfile.StatFile(f)
	if err = errors.Join(err, rerr); err != nil || stampOf(after) != stampOf(before) {
		return nil, stamp{}, errors.Join(err, errUnsteady)
	}
	return data, stampOf(after), nil
}

// keep makes sure that the content of a new or changed row is kept, as far as it is worth keeping, and writes into the row where. old is the row before,
// if there was one. same says that both have the same content, even if it is kept elsewhere now.
func (t *Tree) keep(row *file, old file, at *atomicfile.Dir, d *dir, tree func() gitTree) (same bool) {
	switch {
	case row.stamp.mode&fs.ModeSymlink != 0:
		t.budget.giveBack(old)
		if target, err := at.Readlink(row.name); err == nil {
			row.sum, row.where = t.links.add(target), asLink
		}
		return false
	case !row.stamp.mode.IsRegular(), d.class == bulk, row.stamp.size > maxContent:
		t.budget.giveBack(old)
		return false
	}
	blob, tracked := tree()[row.name]
	if tracked || t.classOf(d, path.Join(d.path, row.name), false) != ignored {
		t.budget.giveBack(old)
	} else if row.paid = t.budget.take(old, row.name, row.stamp.size); row.paid == free {
		return false
	}
	full := t.store.Used() > t.limit && !tracked
	if full && old.where == nowhere {
		t.full(row, d)
		return false
	}
	data, s, err := readFile(at, row.name)
	if err != nil {
		t.log.Debug("snapshot: a file is not kept", "file", path.Join(d.path, row.name), "err", err)
		return false
	}
	row.racy = row.racy || s != row.stamp // it was changed in between
	row.stamp = s
	var sum, gitSum [32]byte
	if tracked || old.where == inGit {
		gitSum = t.git.sum(data)
	}
	inCommit := tracked && gitSum == blob
	if !inCommit || old.where == inStore {
		sum = sha256.Sum256(data)
	}
	same = old.where == inStore && old.sum == sum || old.where == inGit && old.sum == gitSum
	switch {
	case inCommit:
		row.sum, row.where = blob, inGit
		return same
	case full && !same:
		t.full(row, d)
		return false
	case full:
		row.sum, row.where, row.missed = old.sum, old.where, old.where == inGit
		return true
	}
	if err := t.store.put(sum, data); err != nil {
		t.log.Warn("snapshot: a file is not kept", "file", path.Join(d.path, row.name), "err", err)
		row.missed = true
		return false
	}
	row.sum, row.where = sum, inStore
	return same
}

// full notes that the limit of the Store is reached, and a row is not kept.
func (t *Tree) full(row *file, d *dir) {
	t.log.Warn("snapshot: the limit on disk is reached; a file is not kept", "file", path.Join(d.path, row.name))
	row.missed = true
}

// rule brings the ignore rules of a directory up to date.
func (t *Tree) rule(d *dir, at *atomicfile.Dir) {
	s := stamp{}
	if st, err := at.Stat(".gitignore"); err == nil && st.Mode.IsRegular() {
		s = stampOf(st)
	}
	if d.path == "" && d.above == nil {
		d.above = t.git.exclude()
	}
	if d.ruled == s && (s != stamp{} || d.rules == d.above) {
		return
	}
	d.ruled, d.rules = s, d.above
	if s != (stamp{}) && s.size <= 1<<20 {
		if data, _, err := readFile(at, ".gitignore"); err == nil {
			d.rules = gitignore.Add(d.above, d.path, data)
		}
	}
}

// links are the targets of symbolic links, by hash.
type links struct {
	mu      sync.Mutex
	targets map[[32]byte]string
}

func (l *links) add(target string) [32]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256([]byte(target))
	l.targets[sum] = target
	return sum
}

func (l *links) get(sum [32]byte) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.targets[sum]
}

// Live returns the contents of the Store that the table needs, for Store.Prune.
func (t *Tree) Live() map[[32]byte]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	live := map[[32]byte]bool{}
	t.root.each(func(d *dir) {
		for i := range d.files {
			if d.files[i].where == inStore {
				live[d.files[i].sum] = true
			}
		}
	})
	return live
}
