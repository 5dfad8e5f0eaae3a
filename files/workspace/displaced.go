package workspace

import (
	"errors"
	"os"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// The content that a write replaces is kept as a version, if possible without a copy: the displaced file itself moves from
// the tree to the versions. The sync of the directory makes both the write and the move durable. In these cases a copy is
// made and synced before the write: the state directory is on another file system, or the file has other names or another
// owner. If the system cannot exchange files, the copy is made during the commit.

// movable reports whether the old file itself can become the kept version.
func (fc *fileChange) movable() bool {
	st, err := fc.r.state.stat()
	return err == nil && st.Ino != 0 && st.Dev == fc.info.Dev && fc.info.Links == 1 &&
		fc.info.HasOwner && int(fc.info.UID) == os.Geteuid()
}

// tooLarge reports whether the old content exceeds PartsLimit. Such content is never kept.
func (fc *fileChange) tooLarge() bool { return fc.info.Size > fc.r.opt.PartsLimit }

// keepBefore keeps a copy of the old content before it is displaced. It does nothing if keepAfter can move the file.
func (fc *fileChange) keepBefore() error {
	if fc.old == nil || fc.tooLarge() || fc.movable() {
		return nil
	}
	return fc.copyOld(fc.old)
}

// keepAfter keeps the displaced content, if keepBefore did not.
func (fc *fileChange) keepAfter(displaced *os.File, aside string) error {
	if fc.kept {
		return nil
	}
	if fc.tooLarge() {
		fc.noteLost("the old content: too large to be kept, there is no undo")
		return nil
	}
	if aside == "" || !fc.movable() || fc.moveOld(displaced, aside) != nil {
		return fc.copyOld(displaced)
	}
	return nil
}

func (fc *fileChange) copyOld(f *os.File) error {
	s := fc.r.state
	err := s.versions.keep(content{r: f, size: fc.info.Size, version: fc.was})
	if errors.Is(err, errOther) {
		return &Error{Err: ErrChanged, Now: fc.versionNow()}
	}
	if err == nil {
		err = s.versions.sync(fc.was)
	}
	if err != nil {
		return s.fault("keep the old version", err)
	}
	fc.afterKeeping()
	return nil
}

func (fc *fileChange) moveOld(displaced *os.File, aside string) error {
	s, to := fc.r.state, ""
	err := s.versions.take(fc.was, fc.info.Size, func(file string) error {
		to = file
		return fc.pl.dir.MoveOut(aside, file)
	})
	if err != nil {
		return err
	}
	// The file is in its final place: no error may be returned from here on.
	now := time.Now()
	if err := errors.Join(displaced.Chmod(0o600), os.Chtimes(to, now, now)); err != nil {
		fc.r.opt.Log.Warn("a kept version has the mode or time of its file", "err", s.fault("keep", err))
	}
	fc.afterKeeping()
	return nil
}

// afterKeeping makes the backup from the kept version, if one is wanted.
func (fc *fileChange) afterKeeping() {
	fc.kept = true
	if !fc.mode.Backup {
		return
	}
	s := fc.r.state
	file, err := s.versions.backup(s.tree, fc.pl.path, fc.was)
	if err != nil {
		fc.noteLost(s.fault("the backup, though the old version is kept", err).Error())
		return
	}
	fc.out.Backup = file
}

// noteLost records what could not be kept. It does not write to out.Lost, because fill may write to out.Lost at the same
// time.
func (fc *fileChange) noteLost(what string) { fc.unkept = append(fc.unkept, what) }

// version returns the version of the opened file, or "" if there is none.
func (fc *fileChange) version() (Version, error) {
	if fc.old == nil {
		return "", nil
	}
	now, n, err := sum(fc.ctx, fc.old)
	fc.info.Size = n
	return now, err
}

// versionNow returns the version of the existing file, or "" if that cannot be read.
func (fc *fileChange) versionNow() Version {
	f, err := fc.pl.dir.Open(fc.pl.name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := atomicfile.StatFile(f); err != nil || !st.Mode.IsRegular() {
		return ""
	}
	v, _, err := sum(fc.ctx, f)
	if err != nil {
		return ""
	}
	return v
}
