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

// job is one write or removal under way.
type job struct {
	r      *Root
	ctx    context.Context
	mode   WriteMode
	was    Version // the version to be replaced
	pl     *place
	unlock func()
	old    *os.File        // what is at the place, nil where there is nothing
	info   atomicfile.Stat // of old
	out    Written

	done   bool     // the write has happened
	kept   bool     // the old content is kept
	unkept []string // or why it is not
}

// begin finds the place, asks whether it may be written to, takes its lock, and opens
// what is there.
func (r *Root) begin(ctx context.Context, p Path, was Version, mode WriteMode) (*job, error) {
	how := resolving{stats: true}
	if mode.CreateDirs {
		how.missing = func(canonical string, entered []*atomicfile.Dir) error {
			return mode.allows(r.class(canonical, entered))
		}
	}
	pl, err := r.resolve(p.name, how)
	if err != nil {
		return nil, err
	}
	j := &job{r: r, ctx: ctx, mode: mode, was: was, pl: pl}
	j.out.Path, j.out.Was = Path{name: pl.path}, was
	if err := j.open(); err != nil {
		j.end()
		return nil, err
	}
	return j, nil
}

func (j *job) open() error {
	if j.pl.name == "." {
		return because(ErrIsDirectory, "")
	}
	dir, err := j.pl.dir.Self()
	if err != nil {
		return err
	}
	if j.unlock, err = j.r.state.lock(j.ctx, dir, j.pl.name); err != nil {
		return err
	}
	return j.look()
}

// end gives back what the job holds. The directories that a failed write has made are
// removed.
func (j *job) end() {
	if j.unlock != nil {
		j.unlock()
	}
	if j.old != nil {
		_ = j.old.Close()
	}
	if !j.done {
		unmake(j.pl.stack, j.pl.made)
	}
	j.pl.close()
}

// look opens what is at the place, and checks that it may be replaced.
func (j *job) look() error {
	old, err := j.pl.dir.Open(j.pl.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j.mode.allows(j.r.classOf(j.pl, nil))
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case err != nil:
		if st, serr := j.pl.dir.Stat(j.pl.name); serr == nil && kindOf(st.Mode) == Special {
			return because(ErrSpecial, "")
		}
		return err
	}
	j.old = old
	if j.info, err = atomicfile.StatFile(old); err != nil {
		return err
	}
	switch kindOf(j.info.Mode) {
	case Directory:
		return because(ErrIsDirectory, "")
	case File:
	default:
		return because(ErrSpecial, "")
	}
	if err := j.mayReplace(); err != nil {
		// Another write may have displaced the file meanwhile. Then the file has the
		// mode and the names of a kept version, and was judged by those.
		if now, serr := j.pl.dir.Stat(j.pl.name); serr != nil || !now.Same(j.info) {
			return errMoved
		}
		return err
	}
	return nil
}

// mayReplace says whether the file that is there may be replaced.
func (j *job) mayReplace() error {
	t := Target{Info: infoOf(j.pl.path, j.info), Class: j.r.classOf(j.pl, &j.info)}
	if err := j.mode.allows(t.Class); err != nil {
		return err
	}
	asks, detail := t.Cautions()&^j.mode.Agreed, ""
	switch {
	case asks&OtherNames != 0:
		detail = fmt.Sprintf("the file has %d names, and nobody was asked", t.Links)
	case asks&ExecutableFile != 0:
		detail = "the file is executable, and no person was asked"
	}
	if detail != "" {
		return &Error{Err: ErrProtected, Detail: detail, Asks: asks}
	}
	switch err := j.pl.dir.Writable(j.pl.name); {
	case errors.Is(err, fs.ErrNotExist):
		return errMoved
	case err != nil:
		return because(ErrPermission, "there is no permission to write to the file")
	}
	return nil
}

// expect compares the version that is there with the one to be replaced.
func (j *job) expect(now Version) error {
	if now == j.was {
		j.out.Created = j.old == nil
		return nil
	}
	e := &Error{Err: ErrChanged, Now: now}
	switch {
	case j.old == nil:
		e.Detail = "the file is gone"
	case j.was == "":
		e.Detail = "the file exists"
	}
	return e
}

// tempName is a name for a temporary file beside the file.
func (j *job) tempName() (string, error) { return j.r.state.tempName(path.Dir(j.pl.path)) }

// replace makes the new file and puts it in place.
func (j *job) replace(c content) error {
	name, err := j.tempName()
	if err != nil {
		return err
	}
	perm := fs.FileMode(0o600)
	if j.old == nil {
		perm = 0o666
	}
	t, err := atomicfile.NewTemp(j.pl.dir, name, perm)
	if j.mode.CreateDirs && errors.Is(err, fs.ErrNotExist) {
		return errMoved // another write made the directory, failed, and removed it
	}
	if err != nil {
		return err
	}
	defer t.Close()
	kept := make(chan error, 1)
	go func() { kept <- j.keepBefore() }() // at the same time, since both sync
	err = j.fill(t, c)
	if kerr := <-kept; err == nil {
		err = kerr
	}
	if err == nil {
		err = j.ctx.Err()
	}
	if err != nil {
		return err
	}
	err = j.commit(name, func() error {
		if j.old == nil {
			return t.Place(j.pl.name)
		}
		return t.Over(j.pl.name, j.accept)
	})
	if err != nil {
		return j.explain(err)
	}
	j.done = true
	j.out.Dirs = j.pl.lastMade()
	if err := j.finish(); err != nil {
		return err
	}
	st, err := t.Stat()
	if errors.Is(err, fs.ErrClosed) {
		st, err = j.pl.dir.Stat(j.pl.name)
	}
	if err == nil { // the write is done, whether its file can be looked at or not
		j.out.Info = infoOf(j.pl.path, st)
	}
	return nil
}

// finish makes a commit durable.
func (j *job) finish() error {
	j.out.Lost = append(j.out.Lost, j.unkept...)
	if err := j.pl.dir.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// fill writes the content to the temporary file, makes the file like the old one, and
// syncs it.
func (j *job) fill(t *atomicfile.Temp, c content) error {
	err := copyHashed(j.ctx, t, c)
	if errors.Is(err, errOther) {
		return errors.New("the content to be written changed meanwhile")
	}
	if err != nil {
		return err
	}
	if j.old != nil {
		lost, err := t.Like(j.old)
		if err != nil {
			return err
		}
		j.out.Lost = append(j.out.Lost, lost...)
		if j.info.Links > 1 {
			j.out.Lost = append(j.out.Lost, fmt.Sprintf("the link to %d other names, which keep the old content", j.info.Links-1))
		}
	}
	return t.Sync()
}

// accept checks that the displaced file is the one to be replaced, and keeps its
// content. An error from it puts the file back.
func (j *job) accept(displaced *os.File, aside string) error {
	j.r.seams.step("displaced")
	st, err := atomicfile.StatFile(displaced)
	if err != nil {
		return err
	}
	if !st.Mode.IsRegular() || st.Mode != j.info.Mode {
		return errMoved // the new file has the mode that the old one had before
	}
	now, _, err := sum(context.WithoutCancel(j.ctx), displaced)
	if err != nil {
		return err
	}
	if now != j.was {
		return &Error{Err: ErrChanged, Now: now}
	}
	return j.keepAfter(displaced, aside)
}

// explain gives the races that a commit meets their names.
func (j *job) explain(err error) error {
	switch {
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case j.old == nil && errors.Is(err, fs.ErrExist):
		return &Error{Err: ErrChanged, Detail: "the file exists", Now: j.versionNow()}
	case j.old != nil && errors.Is(err, fs.ErrNotExist):
		return &Error{Err: ErrChanged, Detail: "the file is gone"}
	}
	return err
}
