package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stet-dev/stet/internal/atomicfile"
)

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
