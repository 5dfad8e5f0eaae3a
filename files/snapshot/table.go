package snapshot

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/gitignore"
)

// stamp is the system's data about a name. As long as it is equal, the content is, too: ctime changes with every write, and programs
// cannot set it.
type stamp struct {
	mtime, ctime, size int64
	ino                uint64
	mode               fs.FileMode
}

func stampOf(st atomicfile.Stat) stamp {
	return stamp{st.Mtime, st.Ctime, st.Size, st.Ino, st.Mode}
}

func (s stamp) String() string {
	return fmt.Sprintf("%d.%d.%d", s.mtime, s.ctime, s.ino)
}

// tick is the coarsest time that file systems write. A file that was changed less than a tick before it was looked at may change
// again without another time.
const tick = 20 * time.Millisecond

// slowTick is the tick of file systems that write whole seconds.
const slowTick = 2*time.Second + tick

// racy reports whether the name was changed so short a time ago that it may change without another stamp. Programs can set mtime, so it counts only
// where there is no ctime.
func (s stamp) racy(now int64) bool {
	last := cmp.Or(s.ctime, s.mtime)
	if last%int64(time.Second) == 0 {
		return now-last < int64(slowTick)
	}
	return now-last < int64(tick)
}

// file is a row of the table: a name that is not a directory. There may be a million, so it is small.
type file struct {
	name  string
	stamp stamp
	sum   [32]byte // of the content, or the name of git's blob
	where where
	paid  paid // from which budget of ignored files
	racy  bool // the stamp proves nothing
	named bool // it has several names

	missed bool // the content is to be kept again: the Store could not take it, or git may remove it
}

// where says where the content of a file is kept.
type where uint8

const (
	nowhere where = iota // it is not kept, or there is none
	inStore
	inGit  // as a blob of the commit that was checked out: sum is its name, with zeros at the end
	asLink // a symbolic link: sum is in the table of links
)

// dir is a directory of the table.
type dir struct {
	name    string
	path    string // "" for the root
	stamp   stamp
	files   []file           // by name
	subs    []*dir           // by name
	above   *gitignore.Rules // of the directory above
	rules   *gitignore.Rules // above, and the directory's own
	ruled   stamp            // of the .gitignore that rules have
	class   class
	stale   bool // something changed in it, as far as a watch has seen; or it was not read yet
	alone   bool // stale because of its own attributes alone: no name in it has changed
	watched bool
	seen    bool // it was read
	closed  bool // it could not be read before: what appears in it was there, and is no change
}

// each calls do for a directory and all below it.
func (d *dir) each(do func(*dir)) {
	do(d)
	for _, s := range d.subs {
		s.each(do)
	}
}

// update reads the tree again and brings the table up to date. It calls changed for each difference, from several goroutines
// but one at a time. all is false if only directories that are stale need be read.
func (t *Tree) update(ctx context.Context, all bool, changed func(Change)) error {
	u := &update{t: t, ctx: ctx, all: all, changed: changed, doors: doors{dir: t.Dir, store: t.store}}
	u.wake.L = &u.mu
	for {
		u.linked = map[uint64]bool{}
		u.push(t.root)
		var workers sync.WaitGroup
		for range updateWorkers {
			workers.Go(u.work)
		}
		workers.Wait()
		u.shut()
		if all || u.err != nil || !u.others() {
			return u.err
		}
	}
}

// others marks the directories that have other names of the files which have got another name: no watch tells of that there. It reports
// whether there are any.
func (u *update) others() (any bool) {
	if len(u.linked) == 0 {
		return false
	}
	u.t.root.each(func(d *dir) {
		for i := range d.files {
			if f := &d.files[i]; !f.named && u.linked[f.stamp.ino] && !d.stale {
				d.stale, any = true, true
			}
		}
	})
	return any
}

// updateWorkers is how many directories are read at once. More than two gain nothing.
const updateWorkers = 2

type update struct {
	t       *Tree
	ctx     context.Context
	all     bool
	changed func(Change)

	mu      sync.Mutex
	wake    sync.Cond
	pending []*dir
	linked  map[uint64]bool // inodes that have got another name
	busy    int
	err     error

	report sync.Mutex
	doors  doors // that are open
}

// shut closes the directories that were opened for this update.
func (u *update) shut() {
	for p, mode := range u.doors.shut() {
		d := u.t.root
		for name := range strings.SplitSeq(p, "/") {
			if d != nil {
				d = findDir(d.subs, name)
			}
		}
		if d != nil {
			d.stamp.mode, d.stamp.ctime = mode, -1
		}
	}
}

func (u *update) work() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for {
		for len(u.pending) == 0 && u.busy > 0 {
			u.wake.Wait()
		}
		if len(u.pending) == 0 || u.err != nil {
			u.wake.Broadcast()
			return
		}
		d := u.pending[len(u.pending)-1]
		u.pending = u.pending[:len(u.pending)-1]
		u.busy++
		u.mu.Unlock()
		err := u.ctx.Err()
		if err == nil {
			err = u.read(d)
		}
		u.mu.Lock()
		u.busy--
		if u.err == nil {
			u.err = err
		}
		if u.busy == 0 || len(d.subs) > 0 {
			u.wake.Broadcast()
		}
		if err == nil {
			for _, s := range d.subs {
				u.push(s)
			}
		}
	}
}

// push has a directory read, or those below it that are to be read and have none above them that is: a directory is read after those above it. In a large
// tree most are not.
func (u *update) push(d *dir) {
	if u.all || d.stale {
		u.pending = append(u.pending, d)
		return
	}
	for _, s := range d.subs {
		u.push(s)
	}
}

func (u *update) tell(c Change) {
	u.report.Lock()
	defer u.report.Unlock()
	u.changed(c)
}

// read brings one directory up to date, without the directories below it.
func (u *update) read(d *dir) error {
	err := u.readOpen(d)
	alone := d.alone && d.watched && !u.all
	d.alone = false
	if alone && errors.Is(err, errForbidden) {
		d.stale = false
		return nil
	}
	if errors.Is(err, errForbidden) && d.seen && u.doors.open(d.path, 0o500) {
		err = u.readOpen(d)
	}
	if errors.Is(err, errForbidden) {
		d.closed = d.closed || !d.seen
		return nil
	}
	return err
}

var errForbidden = errors.New("permissions forbid to look")

// readOpen is read. errForbidden says that nothing was read.
func (u *update) readOpen(d *dir) error {
	at, err := openBelow(u.t.at, d.path)
	if errors.Is(err, fs.ErrPermission) && d.path != "" {
		return errForbidden
	}
	if err != nil {
		// It is gone since its parent was read. The next update sees it.
		d.closed = d.closed || !d.seen
		if d.path == "" {
			return fmt.Errorf("workspace: %w", err)
		}
		return nil
	}
	defer at.Close()
	if !d.watched {
		d.watched = true
		u.mu.Lock()
		u.t.watch.add(u.t.Dir, d)
		u.mu.Unlock()
	}
	self, err := at.Self()
	if err != nil || self.Dev != u.t.dev { // another file system is there
		d.closed = d.closed || !d.seen
		return nil
	}
	if d.path == "" && d.seen && d.stamp.mode != self.Mode {
		u.tell(Change{".", &Node{Mode: d.stamp.mode}, &Node{Mode: self.Mode}})
	}
	now := time.Now().UnixNano()
	rules := d.rules
	u.t.rule(d, at)
	if rules == d.rules && u.unchanged(d, at, stampOf(self)) {
		return nil
	}
	all, err := names(at)
	there, ok := look(at, all)
	if d.stamp = stampOf(self); d.stamp.racy(now) || err != nil || !ok {
		d.stamp.ctime = -1
	}
	if err != nil || !ok {
		return errForbidden
	}
	was := len(d.files)
	u.merge(d, at, there, now, rules != d.rules)
	d.seen, d.closed = true, false
	return u.count(len(d.files) - was)
}

// count adds to the number of files in the table.
func (u *update) count(more int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.t.files += more; u.t.files > u.t.most {
		return ErrTooMany
	}
	return nil
}

// unchanged reports whether all names in a directory are as in the table. At most calls most directories are, so it builds nothing.
func (u *update) unchanged(d *dir, at *atomicfile.Dir, self stamp) bool {
	if !d.seen || d.stamp != self {
		return false
	}
	linked := false
	for i := range d.files {
		f := &d.files[i]
		if st, err := at.Stat(f.name); err != nil || f.racy || f.missed || stampOf(st) != f.stamp {
			return false
		}
		linked = linked || f.named
	}
	for _, s := range d.subs {
		if st, err := at.Stat(s.name); err != nil || st.Mode != s.stamp.mode || st.Ino != s.stamp.ino || st.Dev != u.t.dev {
			return false
		}
	}
	d.stale = linked && d.class != bulk
	return true
}

// look describes the names in a directory. ok is false if it is forbidden.
func look(at *atomicfile.Dir, names []string) (there []found, ok bool) {
	there = make([]found, 0, len(names))
	for _, name := range names {
		st, err := at.Stat(name)
		if errors.Is(err, fs.ErrPermission) {
			return nil, false
		}
		if err == nil { // else it went away since the names were read
			there = append(there, found{name, st})
		}
	}
	return there, true
}

// names returns the sorted names in a directory; none if it was removed.
func names(at *atomicfile.Dir) (all []string, err error) {
	f, err := at.List()
	if err == nil {
		all, err = f.Readdirnames(-1)
		_ = f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	slices.Sort(all)
	return all, err
}

// found is a name that is in a directory now.
type found struct {
	name string
	atomicfile.Stat
}

// merge compares what is there with the rows of the table. again says that the rules of ignored files have changed.
func (u *update) merge(d *dir, at *atomicfile.Dir, there []found, now int64, again bool) {
	u.missing(d, there)
	tree := sync.OnceValue(func() gitTree { return u.t.git.tree(d.path) })
	files, subs := make([]file, 0, len(there)), make([]*dir, 0, len(d.subs))
	for _, f := range there {
		p := path.Join(d.path, f.name)
		if f.Mode.IsDir() {
			if s := u.dir(d, findDir(d.subs, f.name), p, f, again); s != nil {
				subs = append(subs, s)
			}
			continue
		}
		s := stampOf(f.Stat)
		old, was := findFile(d.files, f.name)
		known := was && old.stamp == s && !old.racy // it is as it was
		if known && !again && !old.missed {
			files = append(files, old)
			continue
		}
		row := file{name: f.name, stamp: s, racy: s.racy(now), named: f.Links > 1}
		if row.named && (!was || !old.named) {
			u.mu.Lock()
			u.linked[s.ino] = true
			u.mu.Unlock()
		}
		if was {
			row.name = old.name // one string for both
		}
		same := u.t.keep(&row, old, at, d, tree)
		files = append(files, row)
		var before *Node
		after := u.t.node(&row)
		if was {
			before = u.t.node(&old)
		}
		if same { // git and the Store have different names for it
			before.Sum, before.blob = after.Sum, after.blob
		}
		if c := (Change{p, before, after}); !known && !c.Before.Equal(c.After) && (was || !d.closed) {
			u.tell(c)
		}
	}
	d.files, d.subs = slices.Clip(files), slices.Clip(subs)
	// A file with several names changes through each of them, and only one directory notices.
	linked := d.class != bulk && slices.ContainsFunc(there, func(f found) bool { return f.Links > 1 && !f.Mode.IsDir() })
	d.stale = linked || slices.ContainsFunc(files, func(f file) bool { return f.racy || f.missed })
}

// missing reports what the table has and the directory has not any more, or has as another kind.
func (u *update) missing(d *dir, there []found) {
	is := func(name string, dir bool) bool {
		i, ok := slices.BinarySearchFunc(there, name, func(f found, name string) int { return cmp.Compare(f.name, name) })
		return ok && there[i].Mode.IsDir() == dir
	}
	for i := range d.files {
		if f := &d.files[i]; !is(f.name, false) {
			u.t.budget.giveBack(*f)
			u.tell(Change{path.Join(d.path, f.name), u.t.node(f), nil})
		}
	}
	for _, s := range d.subs {
		if !is(s.name, true) {
			u.gone(s)
		}
	}
}

// dir returns the row of a directory, new or as it was. It is nil for git's own data, which is not looked into.
func (u *update) dir(parent, old *dir, p string, f found, again bool) *dir {
	if f.name == ".git" {
		return nil
	}
	if f.Dev != u.t.dev && old != nil { // another file system hides it: it is not read
		return old
	}
	if old == nil {
		if !parent.closed {
			u.tell(Change{p, nil, &Node{Mode: f.Mode}})
		}
		return &dir{
			name: f.name, path: p, stamp: stamp{mode: f.Mode, ino: f.Ino, ctime: -1}, stale: true,
			above: parent.rules, class: u.t.classOf(parent, p, true), closed: parent.closed,
		}
	}
	if old.stamp.ino != f.Ino { // another directory of this name
		old.stamp.ino, old.stale, old.alone, old.watched = f.Ino, true, false, false
	}
	if old.stamp.mode != f.Mode {
		u.tell(Change{p, &Node{Mode: old.stamp.mode}, &Node{Mode: f.Mode}})
		old.stamp.mode = f.Mode
	}
	if again {
		old.stale, old.alone, old.ruled = true, false, stamp{ctime: -1}
		old.class = u.t.classOf(parent, p, true)
	}
	old.above = parent.rules
	return old
}

// gone reports a directory that is not there any more, with all below it.
func (u *update) gone(d *dir) {
	u.missing(d, nil)
	_ = u.count(-len(d.files))
	u.tell(Change{d.path, &Node{Mode: d.stamp.mode}, nil})
}

// node returns what a row says.
func (t *Tree) node(f *file) *Node {
	n := &Node{Mode: f.stamp.mode}
	if f.named {
		n.Same = strconv.FormatUint(f.stamp.ino, 10)
	}
	switch {
	case f.where == asLink:
		n.Link = t.links.get(f.sum)
	case f.where == inStore:
		n.Sum, n.Size = hex.EncodeToString(f.sum[:]), f.stamp.size
	case f.where == inGit:
		n.blob, n.Size = t.git.name(f.sum), f.stamp.size
	case n.Mode.IsRegular():
		n.Size, n.Stamp = f.stamp.size, f.stamp.String()
	}
	return n
}

func findFile(files []file, name string) (file, bool) {
	if i, ok := slices.BinarySearchFunc(files, name, func(f file, name string) int { return cmp.Compare(f.name, name) }); ok {
		return files[i], true
	}
	return file{}, false
}

func findDir(dirs []*dir, name string) *dir {
	i, ok := slices.BinarySearchFunc(dirs, name, func(d *dir, name string) int { return cmp.Compare(d.name, name) })
	if !ok {
		return nil
	}
	return dirs[i]
}

// openBelow opens a directory of a tree. No link is followed.
func openBelow(root *atomicfile.Dir, p string) (*atomicfile.Dir, error) {
	if p == "" || p == "." {
		return root.Find(".")
	}
	at, err := root.Find(p)
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.ENAMETOOLONG) {
		return at, err
	}
	at = nil
	for name := range strings.SplitSeq(p, "/") {
		from := root
		if at != nil {
			from = at
		}
		next, err := from.Sub(name)
		if at != nil {
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}
