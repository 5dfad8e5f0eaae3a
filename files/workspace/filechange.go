package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// fileChange is one write or removal in progress.
type fileChange struct {
	r      *Root
	ctx    context.Context
	mode   WriteMode
	was    Version // the version that is replaced
	pl     *place
	unlock func()
	old    *os.File        // the existing file; nil: there is none
	info   atomicfile.Stat // of old
	out    Written

	done   bool     // the write was committed
	kept   bool     // the old content was kept
	unkept []string // what could not be kept
}

// begin resolves the path, checks that the file may be written, takes its lock, and opens the existing file.
func (r *Root) begin(ctx context.Context, p Path, was Version, mode WriteMode) (*fileChange, error) {
	how := resolving{stats: true}
	if mode.CreateDirs {
		how.missing = func(canonical string, entered []*atomicfile.Dir) error {
			return mode.allows(r.class(canonical, entered, true))
		}
	}
	pl, err := r.resolve(p.name, how)
	if err != nil {
		return nil, err
	}
	fc := &fileChange{r: r, ctx: ctx, mode: mode, was: was, pl: pl}
	fc.out.Path, fc.out.Was = Path{name: pl.path}, was
	if err := fc.open(); err != nil {
		fc.end()
		return nil, err
	}
	return fc, nil
}

func (fc *fileChange) open() error {
	if fc.pl.name == "." {
		return because(ErrIsDirectory, "")
	}
	dir, err := fc.pl.dir.Self()
	if err != nil {
		return err
	}
	if fc.unlock, err = fc.r.state.lock(fc.ctx, dir, fc.pl.name); err != nil {
		return err
	}
	return fc.look()
}

// end releases the resources of the change. If the write failed, it removes the directories that the write made.
func (fc *fileChange) end() {
	if fc.unlock != nil {
		fc.unlock()
	}
	if fc.old != nil {
		_ = fc.old.Close()
	}
	if !fc.done {
		unmake(fc.pl.stack, fc.pl.made)
	}
	fc.pl.close()
}

// look opens the existing file, and checks that it may be replaced.
func (fc *fileChange) look() error {
	old, err := fc.pl.dir.Open(fc.pl.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fc.mode.allows(fc.r.classOf(fc.pl, nil))
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case err != nil:
		if st, serr := fc.pl.dir.Stat(fc.pl.name); serr == nil && kindOf(st.Mode) == Special {
			return because(ErrSpecial, "")
		}
		return err
	}
	fc.old = old
	if fc.info, err = atomicfile.StatFile(old); err != nil {
		return err
	}
	switch kindOf(fc.info.Mode) {
	case Directory:
		return because(ErrIsDirectory, "")
	case File:
	default:
		return because(ErrSpecial, "")
	}
	if err := fc.mayReplace(); err != nil {
		// Another write may have displaced the file meanwhile. Then the mode and the number of names that were checked are
		// those of a kept version.
		if now, serr := fc.pl.dir.Stat(fc.pl.name); serr != nil || !now.Same(fc.info) {
			return errMoved
		}
		return err
	}
	return nil
}

// mayReplace returns an error if the existing file may not be replaced.
func (fc *fileChange) mayReplace() error {
	t := Target{Info: infoOf(fc.pl.path, fc.info), Class: fc.r.classOf(fc.pl, &fc.info)}
	if err := fc.mode.allows(t.Class); err != nil {
		return err
	}
	asks, detail := t.Cautions()&^fc.mode.Agreed, ""
	switch {
	case asks&OtherNames != 0:
		detail = fmt.Sprintf("the file has %d names, and no person was asked", t.Links)
	case asks&ExecutableFile != 0:
		detail = "the file is executable, and no person was asked"
	}
	if detail != "" {
		return &Error{Err: ErrProtected, Detail: detail, Asks: asks}
	}
	switch err := fc.pl.dir.Writable(fc.pl.name); {
	case errors.Is(err, fs.ErrNotExist):
		return errMoved
	case err != nil:
		return because(ErrPermission, "there is no permission to write to the file")
	}
	return nil
}

// expect returns ErrChanged if the existing version is not the one to be replaced.
func (fc *fileChange) expect(now Version) error {
	if now == fc.was {
		fc.out.Created = fc.old == nil
		return nil
	}
	e := &Error{Err: ErrChanged, Now: now}
	switch {
	case fc.old == nil:
		e.Detail = "the file is gone"
	case fc.was == "":
		e.Detail = "the file exists"
	}
	return e
}

// tempName returns a name for a temporary file in the file's directory.
func (fc *fileChange) tempName() (string, error) { return fc.r.state.tempName(path.Dir(fc.pl.path)) }

// replace makes the new file and puts it in place.
func (fc *fileChange) replace(c content) error {
	name, err := fc.tempName()
	if err != nil {
		return err
	}
	perm := fs.FileMode(0o600)
	if fc.old == nil {
		perm = 0o666
	}
	t, err := atomicfile.NewTemp(fc.pl.dir, name, perm)
	if fc.mode.CreateDirs && errors.Is(err, fs.ErrNotExist) {
		return errMoved // another write made the directory, failed, and removed it
	}
	if err != nil {
		return err
	}
	defer t.Close()
	kept := make(chan error, 1)
	go func() { kept <- fc.keepBefore() }() // concurrently, because both sync
	err = fc.fill(t, c)
	if kerr := <-kept; err == nil {
		err = kerr
	}
	if err == nil {
		err = fc.ctx.Err()
	}
	if err != nil {
		return err
	}
	err = fc.commit(name, func() error {
		if fc.old == nil {
			return t.Place(fc.pl.name)
		}
		return t.Over(fc.pl.name, fc.accept)
	})
	if err != nil {
		return fc.explain(err)
	}
	fc.done = true
	fc.out.Dirs = fc.pl.lastMade()
	if err := fc.finish(); err != nil {
		return err
	}
	st, err := t.Stat()
	if errors.Is(err, fs.ErrClosed) {
		st, err = fc.pl.dir.Stat(fc.pl.name)
	}
	if err == nil { // the write has succeeded, even if Stat fails
		fc.out.Info = infoOf(fc.pl.path, st)
	}
	return nil
}

// finish makes a commit durable.
func (fc *fileChange) finish() error {
	fc.out.Lost = append(fc.out.Lost, fc.unkept...)
	if err := fc.pl.dir.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// fill writes the content to the temporary file, copies mode, owner and attributes of the old file, and syncs the file.
func (fc *fileChange) fill(t *atomicfile.Temp, c content) error {
	err := copyHashed(fc.ctx, t, c)
	if errors.Is(err, errOther) {
		return errors.New("the content to be written changed meanwhile")
	}
	if err != nil {
		return err
	}
	if fc.old != nil {
		lost, err := t.Like(fc.old)
		if err != nil {
			return err
		}
		fc.out.Lost = append(fc.out.Lost, lost...)
		if fc.info.Links > 1 {
			fc.out.Lost = append(fc.out.Lost, fmt.Sprintf("the link to %d other names, which keep the old content", fc.info.Links-1))
		}
	}
	return t.Sync()
}

// accept checks that the displaced file is the one to be replaced, and keeps its content. If it returns an error, the
// commit puts the file back.
func (fc *fileChange) accept(displaced *os.File, aside string) error {
	fc.r.seams.step("displaced")
	st, err := atomicfile.StatFile(displaced)
	if err != nil {
		return err
	}
	if !st.Mode.IsRegular() || st.Mode != fc.info.Mode {
		return errMoved // the new file has the mode that the old one had when it was examined
	}
	now, _, err := sum(context.WithoutCancel(fc.ctx), displaced)
	if err != nil {
		return err
	}
	if now != fc.was {
		return &Error{Err: ErrChanged, Now: now}
	}
	return fc.keepAfter(displaced, aside)
}

// explain translates the errors of a commit that lost a race.
func (fc *fileChange) explain(err error) error {
	switch {
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case fc.old == nil && errors.Is(err, fs.ErrExist):
		return &Error{Err: ErrChanged, Detail: "the file exists", Now: fc.versionNow()}
	case fc.old != nil && errors.Is(err, fs.ErrNotExist):
		return &Error{Err: ErrChanged, Detail: "the file is gone"}
	}
	return err
}

// Remove removes a file if its version is was; otherwise it returns ErrChanged. It undoes the creation of a file, and has
// the rules of Write. The content is kept. It does not remove directories that were made for the file: see RemoveDir.
func (r *Root) Remove(ctx context.Context, p Path, was Version, mode WriteMode) (Written, error) {
	mode.CreateDirs = false
	return do(r, "remove", p.name, func() (Written, error) {
		return retrying(ctx, p, func() (Written, error) { return r.removeOnce(ctx, p, was, mode) })
	})
}

func (r *Root) removeOnce(ctx context.Context, p Path, was Version, mode WriteMode) (Written, error) {
	fc, err := r.begin(ctx, p, was, mode)
	if err != nil {
		return Written{}, err
	}
	defer fc.end()
	if fc.old == nil {
		return Written{}, because(ErrNotFound, "")
	}
	now, err := fc.version()
	if err == nil {
		err = fc.expect(now)
	}
	if err == nil {
		err = fc.keepBefore()
	}
	if err != nil {
		return Written{}, err
	}
	aside, err := fc.tempName()
	if err != nil {
		return Written{}, err
	}
	err = fc.commit(aside, func() error { return atomicfile.Remove(fc.pl.dir, fc.pl.name, aside, fc.accept) })
	if err != nil {
		return Written{}, fc.explain(err)
	}
	return fc.out, fc.finish()
}

// RemoveDir removes an empty directory. It undoes the creation of a directory. One for control files goes too: empty, it makes
// nothing run.
func (r *Root) RemoveDir(p Path) error {
	_, err := do(r, "remove", p.name, func() (struct{}, error) { return struct{}{}, r.removeDir(p) })
	return err
}

func (r *Root) removeDir(p Path) error {
	pl, err := r.resolve(p.name, resolving{stats: true})
	if err != nil {
		return err
	}
	defer pl.close()
	if pl.name == "." {
		return because(ErrPath, "it is the workspace itself")
	}
	if err := (WriteMode{Agreed: ControlFile}).allows(r.classOf(pl, nil)); err != nil {
		return err
	}
	if err := pl.dir.RemoveDir(pl.name); err != nil {
		return err
	}
	if err := pl.dir.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
