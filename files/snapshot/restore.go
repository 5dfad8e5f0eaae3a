package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Step is one path of a restoration.
type Step struct {
	Path string
	Now  *Node // what is there
	Want *Node // what shall be there
	Why  Why   // why it is not simply done
}

// Why says what stands against a step.
type Why uint8

// The reasons.
const (
	Fits    Why = iota // nothing: the path is as the command left it
	Done               // it is already as it shall be
	Changed            // somebody has changed it since the command
	Lost               // the content that it had before the command is not kept
)

// Restoration is what a list of changes would put back.
type Restoration struct {
	dir   string
	at    *atomicfile.Dir
	root  *os.Root
	store *Store
	made  map[string]string // paths of files with several names, by Node.Same
	Steps []Step            // by path
}

// Prepare looks at the tree below a directory, and returns what it takes to put it back as it was before the changes. Close must be
// called. Nothing is written yet.
func Prepare(ctx context.Context, dir string, store *Store, cs Changes) (_ *Restoration, err error) {
	r := &Restoration{dir: dir, store: store, made: map[string]string{}}
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
		now, _ := lookAt(r.at, c.Path)
		s := Step{Path: c.Path, Now: now, Want: c.Before}
		switch {
		case now.is(c.Before):
			s.Why = Done
		case !c.Before.Kept() || c.Before != nil && c.Before.Mode.IsRegular() && !store.Has(c.Before.Sum):
			s.Why = Lost
		case !now.is(c.After):
			s.Why = Changed
		}
		r.Steps = append(r.Steps, s)
	}
	return r, nil
}

// is reports whether n, which was just looked at, is the node w, of which the stamp alone may be known.
func (n *Node) is(w *Node) bool {
	if n == nil || w == nil || w.Stamp == "" {
		return n.equal(w)
	}
	return n.Mode == w.Mode && n.Size == w.Size && n.now == w.Stamp
}

// Close releases the directory.
func (r *Restoration) Close() error { return errors.Join(r.at.Close(), r.root.Close()) }

// Apply puts back the steps that the function chosen accepts; steps that are Done or Lost are never done. It returns what it changed, which undoes
// the restoration. A step that fails does not stop the others.
func (r *Restoration) Apply(ctx context.Context, chosen func(Step) bool) (Changes, error) {
	did, errs := Changes{}, []error(nil)
	try := func(s Step, do func(Step) error) {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			return
		}
		if err := do(s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", strconv.Quote(s.Path), err))
			return
		}
		did.add(Change{s.Path, s.Now, s.Want})
	}
	var steps []Step
	for _, s := range r.Steps {
		if s.Why != Done && s.Why != Lost && chosen(s) {
			steps = append(steps, s)
		}
	}
	isDir := func(n *Node) bool { return n != nil && n.Mode.IsDir() }
	same := func(s Step) bool { return isDir(s.Now) == isDir(s.Want) && s.Now != nil && s.Want != nil }
	// Directories must be open for writing before anything in them changes, and get their permissions last.
	for _, s := range steps {
		if same(s) && isDir(s.Now) && s.Now.Mode&0o700 != 0o700 {
			r.root.Chmod(s.Path, s.Now.Mode.Perm()|0o700)
		}
	}
	for _, s := range slices.Backward(steps) { // what is in a directory comes after it
		if s.Now != nil && !same(s) {
			try(s, r.remove)
		}
	}
	for _, s := range steps {
		if s.Want != nil && (s.Now == nil || !same(s) && did.has(s.Path)) || same(s) && !isDir(s.Want) {
			try(s, r.make)
		}
	}
	for _, s := range slices.Backward(steps) {
		if isDir(s.Want) && (same(s) || did.has(s.Path)) {
			try(s, func(s Step) error { return r.chmod(s.Path, s.Want.Mode) })
		}
	}
	return did, errors.Join(errs...)
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
	if !s.Now.Mode.IsRegular() {
		return at.Remove(name)
	}
	if err := r.save(s); err != nil {
		return err
	}
	return atomicfile.Remove(at, name, temporary(name), r.accept(s))
}

// save keeps the content that a step takes away, so that the restoration can be undone.
func (r *Restoration) save(s Step) error {
	if s.Now == nil || !s.Now.Mode.IsRegular() || s.Now.Sum == "" {
		return nil
	}
	now, data := lookAt(r.at, s.Path)
	if !now.equal(s.Now) {
		return errChanged
	}
	_, err := r.store.Put(data)
	return err
}

var errChanged = errors.New("it was changed in this moment; try again")

// accept checks that a file which is replaced is the one that was looked at.
func (r *Restoration) accept(s Step) atomicfile.Accept {
	return func(old *os.File, _ string) error {
		data, st, err := readSteady(old)
		if s.Now.Sum == "" {
			if fi, serr := atomicfile.StatFile(old); serr == nil && fi.Size == s.Now.Size {
				return nil
			}
			return errChanged
		}
		if err != nil || int64(len(data)) != st.size || sumOf(data) != s.Now.Sum {
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
	name, aside := path.Base(s.Path), temporary(path.Base(s.Path))
	switch {
	case s.Want.Mode.IsDir():
		return at.Mkdir(name, 0o700)
	case s.Want.Mode&fs.ModeSymlink != 0:
		if s.Now != nil && r.isThere(s) {
			if err := r.remove(s); err != nil {
				return err
			}
		}
		return at.Symlink(s.Want.Link, name)
	}
	now, _ := lookAt(r.at, s.Path)
	if now != nil && now.Mode.IsRegular() && now.Sum == s.Want.Sum && now.Same == s.Want.Same {
		return r.chmod(s.Path, s.Want.Mode)
	}
	if now != nil && !now.Mode.IsRegular() {
		if err := r.remove(s); err != nil {
			return err
		}
		now = nil
	}
	if now != nil {
		if err := r.save(s); err != nil {
			return err
		}
	}
	if other := r.made[s.Want.Same]; other != "" && now == nil {
		return r.root.Link(other, s.Path)
	}
	data, err := r.store.Get(s.Want.Sum, maxContent)
	if err != nil {
		return err
	}
	if s.Want.Same != "" {
		r.made[s.Want.Same] = s.Path
		if now != nil && now.Same == s.Want.Same {
			return r.overwrite(s, data)
		}
	}
	tmp, err := atomicfile.NewTemp(at, aside, 0o600)
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
	if now != nil {
		return tmp.Over(name, r.accept(s))
	}
	return tmp.Place(name)
}

// isThere reports whether the step's path is not free.
func (r *Restoration) isThere(s Step) bool {
	_, err := r.root.Lstat(s.Path)
	return err == nil
}

// overwrite writes into a file that has other names, too.
func (r *Restoration) overwrite(s Step, data []byte) error {
	f, err := r.root.OpenFile(s.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return r.chmod(s.Path, s.Want.Mode)
}

func (r *Restoration) chmod(p string, mode fs.FileMode) error {
	return r.root.Chmod(p, mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// temporary returns the name of a file beside the one of that name.
func temporary(name string) string {
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	return ".stet-undo-" + name
}
