package workspace

import (
	"errors"
	"os"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// The content that a write replaces is kept as a version, without a copy where that
// is possible: the displaced file itself is moved from the tree to the versions, and
// the sync of the directory that makes the write durable makes the move durable too.
// A copy is made and synced before the write where the state is on another file
// system, where the file has other names or another owner, and where the system
// cannot exchange files.

// movable reports whether the old file can become the kept version.
func (fc *fileChange) movable() bool {
	st, err := fc.r.state.stat()
	return err == nil && st.Ino != 0 && st.Dev == fc.info.Dev && fc.info.Links == 1 &&
		fc.info.HasOwner && int(fc.info.UID) == os.Geteuid()
}

// tooLarge reports whether the old content is more than is ever kept.
func (fc *fileChange) tooLarge() bool { return fc.info.Size > fc.r.opt.PartsLimit }

// keepBefore keeps the old content before it is displaced, unless keepAfter can move
// the file.
func (fc *fileChange) keepBefore() error {
	if fc.old == nil || fc.tooLarge() || fc.movable() {
		return nil
	}
	return fc.copyOld(fc.old)
}

// keepAfter keeps the displaced content, unless keepBefore did.
func (fc *fileChange) keepAfter(displaced *os.File, aside string) error {
	if fc.kept {
		return nil
	}
	if fc.tooLarge() {
		fc.lose("the old content: too large to be kept, there is no undo")
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
	// The file is where it belongs: nothing after this may fail.
	now := time.Now()
	if err := errors.Join(displaced.Chmod(0o600), os.Chtimes(to, now, now)); err != nil {
		fc.r.opt.Log.Warn("a kept version has the mode or time of its file", "err", s.fault("keep", err))
	}
	fc.afterKeeping()
	return nil
}

// afterKeeping makes the backup, whose source is the kept version.
func (fc *fileChange) afterKeeping() {
	fc.kept = true
	if !fc.mode.Backup {
		return
	}
	s := fc.r.state
	file, err := s.versions.backup(s.tree, fc.pl.path, fc.was)
	if err != nil {
		fc.lose(s.fault("the backup, though the old version is kept", err).Error())
		return
	}
	fc.out.Backup = file
}

// lose notes what could not be kept. It is called in the commit, while out.Lost may
// be written to.
func (fc *fileChange) lose(what string) { fc.unkept = append(fc.unkept, what) }

// version returns the version of the file that was opened, "" where there is none.
func (fc *fileChange) version() (Version, error) {
	if fc.old == nil {
		return "", nil
	}
	now, n, err := sum(fc.ctx, fc.old)
	fc.info.Size = n
	return now, err
}

// versionNow returns the version of the file that is there now, as far as it can be
// told.
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
