package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Remove removes a file if its version is was. It undoes the making of a file, and
// obeys the rules of Write. The content is kept. Directories that were made for the
// file stay: see RemoveDir.
func (r *Root) Remove(ctx context.Context, p Path, was Version, mode WriteMode) (Written, error) {
	mode.CreateDirs = false
	return do(r, "remove", p.name, func() (Written, error) {
		return retrying(ctx, p, func() (Written, error) { return r.removeOnce(ctx, p, was, mode) })
	})
}

func (r *Root) removeOnce(ctx context.Context, p Path, was Version, mode WriteMode) (Written, error) {
	j, err := r.begin(ctx, p, was, mode)
	if err != nil {
		return Written{}, err
	}
	defer j.end()
	if j.old == nil {
		return Written{}, because(ErrNotFound, "")
	}
	now, err := j.version()
	if err == nil {
		err = j.expect(now)
	}
	if err == nil {
		err = j.keepBefore()
	}
	if err != nil {
		return Written{}, err
	}
	aside, err := j.tempName()
	if err != nil {
		return Written{}, err
	}
	err = j.commit(aside, func() error { return atomicfile.Remove(j.pl.dir, j.pl.name, aside, j.accept) })
	if err != nil {
		return Written{}, j.explain(err)
	}
	return j.out, j.finish()
}

// RemoveDir removes a directory that is empty. It undoes the making of a directory.
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
	if err := (WriteMode{}).allows(r.classOf(pl, nil)); err != nil {
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
