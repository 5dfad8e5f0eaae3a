package snapshot

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Step is one path of a restoration.
type Step struct {
	Path string
	Now  *Node // what is there
	Want *Node // what shall be there
	Why  Why   // why it is not simply done

	// Moves says that the file is not removed, but moved back to another path.
	Moves bool

	// from is the path that has the content of Want now, if the Store has it not: the command has moved the file, or has changed only its mode.
	from string
}

// Drops reports whether the step would take away a content that cannot be kept.
func (s Step) Drops() bool {
	return s.from == "" && (s.Why == Fits || s.Why == Changed) && s.Now != nil && s.Now.Mode.IsRegular() && s.Now.Sum == "" && !s.Moves
}

// Why says what stands against a step.
type Why uint8

// The reasons.
const (
	Fits    Why = iota // nothing: the path is as the command left it
	Done               // it is already as it shall be
	Changed            // somebody has changed it since the command
	Lost               // the content that it had before the command is not kept
	Only               // it would be removed, but may be the only copy of a content that is Lost elsewhere
)

// Restoration is what a list of changes would put back.
type Restoration struct {
	dir   string
	at    *atomicfile.Dir
	root  *os.Root
	store *Store
	doors doors             // that are open until Close
	made  map[string]string // paths of files with several names, by Node.group
	Steps []Step            // by path
	Stay  []string          // directories that Apply has left, because somebody else's files are in them
}

// Prepare looks at the tree below a directory, and returns what it takes to put it back as it was before the changes. Close must be
// called. Nothing is written yet.
func Prepare(ctx context.Context, dir string, store *Store, cs Changes) (_ *Restoration, err error) {
	r := &Restoration{dir: dir, store: store, made: map[string]string{}, doors: doors{dir: dir, store: store}}
	if r.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if r.at, err = atomicfile.OpenDir(dir); err != nil {
		return nil, errors.Join(err, r.root.Close())
	}
	for _, c := range cs.Sorted() {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		now, _, known := lookAt(r.at, c.Path)
		if !known && r.doors.open(path.Dir(c.Path), 0o500) {
			now, _, _ = lookAt(r.at, c.Path)
		}
		if now != nil && c.After != nil && now.Same == c.After.Same {
			now.Twin = c.After.Twin
		}
		s := Step{Path: c.Path, Now: now, Want: c.Before}
		switch {
		case now.is(c.Before):
			s.Why = Done
			r.made[c.Before.group()] = c.Path
		case !r.kept(c.Before):
			s.Why = Lost
		case !now.is(c.After) && !c.halfway(now):
			s.Why = Changed
		}
		r.Steps = append(r.Steps, s)
	}
	r.respelled(cs)
	r.moved(cs)
	return r, nil
}

// halfway reports whether a path is in a state between, which a killed restoration leaves: a directory or file whose mode was opened, or nothing where
// something of another kind was removed. The next restoration goes on from there.
func (c Change) halfway(now *Node) bool {
	if c.Before == nil || now == nil {
		return c.Before != nil && c.After != nil && c.Before.Mode.Type() != c.After.Mode.Type()
	}
	for _, n := range []*Node{c.Before, c.After} {
		if n.isDir() && now.Mode == n.Mode|0o700 || n != nil && n.Stamp != "" && now.Mode != n.Mode && now.Mode == n.Mode|0o400 && now.content() == n.content() {
			return true
		}
	}
	return false
}

// respelled finds names that lead to a file only because the file system knows no letter case: the command has removed the file, and has made another one whose
// name differs in case or composition alone. Where that one is removed, the old name is free.
func (r *Restoration) respelled(cs Changes) {
	fold := func(p string) string { return norm.NFC.String(strings.ToLower(p)) }
	made := map[string]*Node{}
	for _, s := range r.Steps {
		if s.Want == nil && s.Why == Fits {
			made[fold(s.Path)] = s.Now
		}
	}
	for i, s := range r.Steps {
		if n := made[fold(s.Path)]; n != nil && s.Now != nil && n.now == s.Now.now && n.Same == "" && cs[s.Path].After == nil {
			if r.Steps[i].Now, r.Steps[i].Why = nil, Fits; !r.kept(s.Want) {
				r.Steps[i].Why = Lost
			}
		}
	}
}

// kept reports whether a node can be made again: only files need a content, and special files are not made.
func (r *Restoration) kept(n *Node) bool {
	return n == nil || n.Mode.IsDir() || n.Mode&fs.ModeSymlink != 0 || n.Mode.IsRegular() && r.store.Has(n.Sum)
}

// moved looks for the contents that are not kept: a command that has renamed a file has not destroyed its content.
func (r *Restoration) moved(cs Changes) {
	created, lost := map[string]int{}, map[int64]bool{}
	for i, s := range r.Steps {
		if s.Want == nil && s.Now.isStill(cs[s.Path].After) {
			created[s.Now.content()] = i
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Why != Lost || !s.Want.Mode.IsRegular() {
			continue
		}
		id, after := s.Want.content(), cs[s.Path].After
		switch at, ok := created[id]; {
		case id != "" && s.Now.content() == id: // another mode
			s.from, s.Why = s.Path, Fits
			if s.Now.Mode == s.Want.Mode { // put back by a restoration that was killed
				s.Why = Done
			} else if !s.Now.isStill(after) {
				s.Why = Changed
			}
		case id != "" && ok && s.Now == nil && after == nil:
			from := &r.Steps[at]
			s.from, s.Why, from.Why, from.Moves = from.Path, Fits, Fits, true
			delete(created, id)
		default:
			lost[s.Want.Size] = true
		}
	}
	for i, s := range r.Steps {
		if s.Want == nil && s.Why == Fits && s.Now.Mode.IsRegular() && s.Now.Sum == "" && lost[s.Now.Size] {
			r.Steps[i].Why = Only
		}
	}
}

// content identifies the content of a file whose Stamp is known: by inode, size and time of the last write, which a new name or mode
// does not change. "": it is not known.
func (n *Node) content() string {
	if n == nil || !n.Mode.IsRegular() {
		return ""
	}
	mtime, rest, _ := strings.Cut(cmp.Or(n.now, n.Stamp), ".")
	_, ino, ok := strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	return fmt.Sprint(mtime, " ", ino, " ", n.Size)
}

// group is equal in all nodes of one file with several names; "": it has one. An inode's number may be used again by another file, so they have all else
// in common, too.
func (n *Node) group() string {
	if n == nil || n.Same == "" {
		return ""
	}
	return fmt.Sprint(n.Same, " ", n.Mode, " ", n.Sum)
}

// isStill reports whether n, which was just looked at, is the file w with the same content and mode. Unlike is, it does not look at the time
// of the last change of the name: nothing is removed because of it.
func (n *Node) isStill(w *Node) bool {
	return n.content() != "" && w != nil && n.Mode == w.Mode && (w.Sum != "" && n.Sum == w.Sum || n.content() == w.content())
}

// asMoved returns the node without a content in the Store.
func (n *Node) asMoved() *Node {
	if n == nil {
		return nil
	}
	out := *n
	out.Sum, out.Stamp = "", n.now
	return &out
}

// is reports whether n, which was just looked at, is the node w, of which the stamp alone may be known.
func (n *Node) is(w *Node) bool {
	if n == nil || w == nil || w.Stamp == "" {
		return n.Equal(w)
	}
	return n.Mode == w.Mode && n.Size == w.Size && n.now == w.Stamp
}

// Close releases the directory.
func (r *Restoration) Close() error {
	r.doors.shut()
	return errors.Join(r.at.Close(), r.root.Close())
}

// maxErrors is how many errors Apply reports.
const maxErrors = 10

// Apply puts back the steps that the function chosen accepts; steps that are Done, Lost or Only are never done. It returns what it changed, which undoes
// the restoration. A step that fails does not stop the others. It is not among the changes.
func (r *Restoration) Apply(ctx context.Context, chosen func(Step) bool) (Changes, error) {
	r.sweep()
	a := applying{Restoration: r, ctx: ctx, did: Changes{}}
	var steps []Step
	from := map[string]bool{} // files that are moved back, and the directories above them: they go last
	for _, s := range r.Steps {
		if (s.Why != Fits && s.Why != Changed) || !chosen(s) {
			continue
		}
		steps = append(steps, s)
		for p := s.from; p != "" && p != s.Path && p != "."; p = path.Dir(p) {
			from[p] = true
		}
	}
	shut := map[string]fs.FileMode{} // files that must not be read: they are opened, since they could not be compared
	for i := range steps {
		s := &steps[i]
		if !s.sameKind() || !s.Now.Mode.IsRegular() || s.Now.Sum != "" || s.Now.Mode&0o400 != 0 || s.from != "" || r.chmod(s.Path, s.Now.Mode|0o400) != nil {
			continue
		}
		if now, _, _ := lookAt(r.at, s.Path); now != nil && now.Size == s.Now.Size {
			shut[s.Path], s.Now = s.Now.Mode, now
		}
	}
	for _, s := range slices.Backward(steps) { // what is in a directory comes after it
		if !from[s.Path] {
			a.clear(s)
		}
	}
	slices.SortStableFunc(steps, func(s, o Step) int { // a name of another file comes when that file is as it was
		return cmp.Compare(min(1, len(s.twin())), min(1, len(o.twin())))
	})
	for _, s := range steps {
		switch {
		case s.from != "":
			a.moveBack(s)
		case s.Want != nil && (s.Now == nil || !s.sameKind() && a.did.has(s.Path)), s.sameKind() && !s.Want.isDir():
			a.try(s, s.Want, r.make)
		}
	}
	slices.SortFunc(steps, func(s, o Step) int { return strings.Compare(s.Path, o.Path) })
	for _, s := range slices.Backward(steps) {
		if !from[s.Path] || !s.Now.isDir() || s.Want.isDir() {
			continue
		}
		if a.clear(s); s.Want != nil && a.did.has(s.Path) {
			a.try(s, s.Want, r.make)
		}
	}
	a.ctx = context.WithoutCancel(ctx) // no directory is left open
	for _, s := range slices.Backward(steps) {
		if s.Want.isDir() && (s.sameKind() || a.did.has(s.Path)) {
			r.doors.leave(s.Path)
			a.try(s, s.Want, func(s Step) error { return r.chmod(s.Path, s.Want.Mode) })
		}
	}
	for p, mode := range shut {
		c, done := a.did[p]
		if !done {
			_ = r.chmod(p, mode) // it was possible before
			continue
		}
		before := *c.Before
		before.Mode = mode
		a.did[p] = Change{p, &before, c.After}
	}
	if a.failed > len(a.errs) {
		a.errs = append(a.errs, fmt.Errorf("and %d more failed", a.failed-len(a.errs)))
	}
	return a.did, errors.Join(a.errs...)
}

// applying is a Restoration while it is applied.
type applying struct {
	*Restoration
	ctx    context.Context
	did    Changes
	errs   []error // of the first maxErrors
	failed int
}

// try does one step, after which the node to is at its path.
func (a *applying) try(s Step, to *Node, do func(Step) error) {
	err := a.ctx.Err()
	if err == nil {
		err = do(s)
	}
	if errors.Is(err, fs.ErrPermission) && a.doors.open(path.Dir(s.Path), 0o700) {
		err = do(s)
	}
	switch {
	case err == nil:
		a.did.add(Change{s.Path, s.Now, to}) // s.Now does not count if there was an earlier change
	case err == errStays:
	case len(a.errs) < maxErrors:
		a.errs = append(a.errs, fmt.Errorf("%s: %w", strconv.Quote(s.Path), err))
		fallthrough
	default:
		a.failed++
	}
}

// clear removes what is at a path and cannot become what shall be there.
func (a *applying) clear(s Step) {
	if s.Now == nil || s.sameKind() {
		return
	}
	a.try(s, nil, func(s Step) error {
		err := a.remove(s)
		if s.Want == nil && s.Now.isDir() && errors.Is(err, fs.ErrExist) { // it is not empty
			a.Stay = append(a.Stay, s.Path)
			return errStays
		}
		return err
	})
}

// errStays says that nothing was done, which is no failure.
var errStays = errors.New("it stays")

// moveBack gives a file its old name and mode again.
func (a *applying) moveBack(s Step) {
	from, back := (*Node)(nil), (*Node)(nil)
	a.try(s, nil, func(s Step) error {
		if from, _, _ = lookAt(a.at, s.from); from.content() != s.Want.content() {
			return errChanged
		}
		if s.from != s.Path {
			if err := a.rename(s.from, s.Path); err != nil {
				return err
			}
		}
		err := a.chmod(s.Path, s.Want.Mode)
		back, _, _ = lookAt(a.at, s.Path)
		return err
	})
	if back == nil {
		return
	}
	a.did[s.Path] = Change{s.Path, s.Now.asMoved(), back.asMoved()}
	if s.from != s.Path {
		a.did[s.from] = Change{s.from, from.asMoved(), nil}
	}
}

// rename gives a file another name, which must be free.
func (r *Restoration) rename(from, to string) error {
	err := r.root.Link(from, to) // unlike a rename, it replaces nothing
	if err == nil {
		return r.root.Remove(from)
	}
	old, gone := r.root.Lstat(from)
	if now, free := r.root.Lstat(to); free == nil && (gone != nil || !os.SameFile(old, now)) {
		return errChanged
	}
	return r.root.Rename(from, to) // there are no links in this file system, or only the letter case differs
}

// twin returns another name of the file that shall be at the path; "": there is none.
func (s Step) twin() string {
	if s.Want == nil || !validPath(s.Want.Twin) {
		return ""
	}
	return s.Want.Twin
}

func (n *Node) isDir() bool { return n != nil && n.Mode.IsDir() }

// sameKind reports whether a file shall become another file, or a directory another directory.
func (s Step) sameKind() bool {
	return s.Now != nil && s.Want != nil && s.Now.isDir() == s.Want.isDir()
}

func (cs Changes) has(p string) bool { _, ok := cs[p]; return ok }

// remove removes what the command made. A directory must be empty: whoever put something into it keeps it.
func (r *Restoration) remove(s Step) error {
	at, err := openBelow(r.at, path.Dir(s.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	name := path.Base(s.Path)
	if s.Now.Mode.IsDir() {
		return at.RemoveDir(name)
	}
	if err := r.save(s); err != nil {
		return err
	}
	if !s.Now.Mode.IsRegular() {
		return at.Remove(name)
	}
	return atomicfile.Remove(at, name, temporary(), r.accept(s))
}

// save checks that what a step takes away is what was looked at, and keeps its content, so that the restoration can be undone.
func (r *Restoration) save(s Step) error {
	now, data, _ := lookAt(r.at, s.Path)
	switch {
	case now == nil || s.Now == nil || !now.Equal(s.Now):
		return errChanged
	case s.Now.Sum == "":
		return nil
	}
	_, err := r.store.Put(data)
	return err
}

var errChanged = errors.New("somebody has changed it in this moment; try again")

// accept checks that a file which is replaced is the one that was looked at.
func (r *Restoration) accept(s Step) atomicfile.Accept {
	return func(old *os.File, _ string) error {
		if s.Now.Sum == "" {
			if st, err := atomicfile.StatFile(old); err != nil || (&Node{Mode: st.Mode, Size: st.Size, now: stampOf(st).String()}).content() != s.Now.content() {
				return errChanged
			}
			return nil
		}
		if data, _, err := readSteady(old); err != nil || sumOf(data) != s.Now.Sum {
			return errChanged
		}
		return nil
	}
}

// make makes what was there before the command: a directory, a link, or a file, whose inode is kept if it has other names.
func (r *Restoration) make(s Step) error {
	at, err := openBelow(r.at, path.Dir(s.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	name := path.Base(s.Path)
	now, _, _ := lookAt(r.at, s.Path)
	if s.Want.isDir() { // if this is the end, it is nearly as it was: see halfway
		if err := at.Mkdir(name, 0o700); err != nil {
			return err // something was made here meanwhile: its mode must stay
		}
		return r.chmod(s.Path, s.Want.Mode|0o700)
	}
	if now.Equal(s.Want) && now.Same == s.Want.Same {
		return nil
	}
	if now != nil {
		if err := r.save(s); err != nil {
			return err
		}
	}
	aside := temporary()
	if s.Want.Mode&fs.ModeSymlink != 0 {
		if err := at.Symlink(s.Want.Link, aside); err != nil {
			return err
		}
		return r.place(at, aside, s, now)
	}
	key := s.Want.group()
	for _, other := range []string{s.twin(), r.made[key]} {
		o, _, _ := lookAt(r.at, other)
		if key == "" || !o.Equal(s.Want) || now != nil && now.Same != "" && now.Same == o.Same {
			continue
		}
		if r.root.Link(other, path.Join(path.Dir(s.Path), aside)) == nil {
			return r.place(at, aside, s, now)
		}
	}
	if now != nil && now.Sum == s.Want.Sum && now.Same == s.Want.Same {
		return r.chmod(s.Path, s.Want.Mode)
	}
	data, err := r.store.Get(s.Want.Sum, maxContent)
	if err != nil {
		return err
	}
	if key != "" && now != nil && now.Same == s.Want.Same {
		r.made[key] = s.Path
		return r.overwrite(s, data)
	}
	tmp, err := atomicfile.NewTemp(at, aside, unfinished)
	if errors.Is(err, fs.ErrPermission) && now != nil && now.Mode.IsRegular() {
		return r.overwrite(s, data) // the directory must not be written to; the file may be
	}
	if err != nil {
		return err
	}
	defer tmp.Close()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := r.chmod(path.Join(path.Dir(s.Path), aside), s.Want.Mode); err != nil {
		return err
	}
	switch {
	case now == nil:
		err = tmp.Place(name)
	case !now.Mode.IsRegular():
		err = r.place(at, aside, s, now)
	default:
		if err = tmp.Over(name, r.accept(s)); errors.Is(err, syscall.EBUSY) {
			return r.overwrite(s, data) // something is mounted there
		}
	}
	if err == nil {
		r.made[key] = s.Path
	}
	return err
}

// place gives what was made aside the name of a step, where now is; nil: nothing is. If that is not what was looked at, it stays. The name always exists, on
// systems that can exchange two: the process may be killed at any time.
func (r *Restoration) place(at *atomicfile.Dir, aside string, s Step, now *Node) error {
	defer at.Remove(aside) // if it stays, it is only in the way
	name := path.Base(s.Path)
	if now == nil {
		return at.RenameNew(aside, name)
	}
	err := at.Exchange(aside, name)
	if err == nil {
		if was, _, _ := lookAt(at, aside); !was.Equal(s.Now) && !was.isStill(s.Now) {
			err = errors.Join(errChanged, at.Exchange(aside, name))
		}
	} else if errors.Is(err, errors.ErrUnsupported) {
		if err = r.remove(s); err == nil {
			err = at.RenameNew(aside, name)
		}
	}
	return err
}

// overwrite writes into a file that has other names, too.
func (r *Restoration) overwrite(s Step, data []byte) error {
	f, err := r.root.OpenFile(s.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	write := func(data []byte) error {
		if _, err := f.WriteAt(data, 0); err != nil {
			return err
		}
		return f.Truncate(int64(len(data)))
	}
	if err = write(data); err != nil {
		if old, gerr := r.store.Get(s.Now.Sum, maxContent); gerr == nil { // save has kept it
			err = errors.Join(err, write(old))
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return r.chmod(s.Path, s.Want.Mode)
}

func (r *Restoration) chmod(p string, mode fs.FileMode) error {
	return r.root.Chmod(p, mode&bits)
}

// Files that have their final names a moment later. Until they are written, they have a mode that files of people and programs do not have.
const (
	asidePrefix = ".stet-undo-"
	unfinished  = 0o200
)

// temporary returns a free name for such a file.
func temporary() string { return asidePrefix + rand.Text()[:12] }

// sweep removes such files of a restoration that was killed, next to the steps: what is half written, what is kept, and links and pipes. Anything else stays, since it may
// be a file that a person or another program has just written.
func (r *Restoration) sweep() {
	seen := map[string]bool{}
	for _, s := range r.Steps {
		dir := path.Dir(s.Path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		at, err := openBelow(r.at, dir)
		if err != nil {
			continue
		}
		all, _ := names(at)
		for _, name := range all {
			if !strings.HasPrefix(name, asidePrefix) {
				continue
			}
			if n, _, _ := lookAt(at, name); n != nil && !n.isDir() && (!n.Mode.IsRegular() || n.Mode == unfinished || r.store.Has(n.Sum)) {
				_ = at.Remove(name) // if it stays, it is only in the way
			}
		}
		_ = at.Close()
	}
}
