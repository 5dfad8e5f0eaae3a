package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Remove takes a file away if its version is was. It is what undoes the making
// of a file, and obeys the rules of Write. The content is kept. Directories
// made for the file stay: see RemoveDir.
func (r *Root) Remove(ctx context.Context, p Path, was Version, o WriteMode) (Written, error) {
	if err := r.enter(); err != nil {
		return Written{}, wrap("remove", p.name, err)
	}
	defer r.leave()
	w, err := retrying(ctx, func() (Written, error) { return r.remove(ctx, p, was, o) })
	return w, wrap("remove", p.name, err)
}

func (r *Root) remove(ctx context.Context, p Path, was Version, o WriteMode) (Written, error) {
	if p.name == "." || p.name == "" || p.dir {
		return Written{}, because(ErrPath, "it names a directory")
	}
	o.CreateDirs = false
	j, unlock, err := r.begin(ctx, p, was, o)
	if err != nil {
		return Written{}, err
	}
	defer j.end()
	defer unlock()
	if j.old == nil {
		return Written{}, because(ErrNotFound, "")
	}
	now, err := j.version()
	if err != nil {
		return Written{}, err
	}
	if err := j.expect(now); err != nil {
		return Written{}, err
	}
	if err := j.keepBefore(); err != nil {
		return Written{}, err
	}
	aside, err := j.tempName()
	if err != nil {
		return Written{}, err
	}
	err = j.exclusively(aside, func() error { return atomicfile.Remove(j.pl.dir, j.pl.name, aside, j.accept) })
	if err != nil {
		return Written{}, j.reword(err)
	}
	j.out.Lost = append(j.out.Lost, j.unkept...)
	if err := j.pl.dir.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return Written{}, err
	}
	return j.out, nil
}

// RemoveDir removes a directory that is empty. It is what undoes the making of a
// directory.
func (r *Root) RemoveDir(p Path) error {
	if err := r.enter(); err != nil {
		return wrap("remove", p.name, err)
	}
	defer r.leave()
	return wrap("remove", p.name, r.removeDir(p))
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
	var o WriteMode
	if err := o.allows(r.classOf(pl, nil)); err != nil {
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
