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
func (j *job) movable() bool {
	st, err := j.r.state.stat()
	return err == nil && st.Ino != 0 && st.Dev == j.info.Dev && j.info.Links == 1 &&
		j.info.HasOwner && int(j.info.UID) == os.Geteuid()
}

// tooLarge reports whether the old content is more than is ever kept.
func (j *job) tooLarge() bool { return j.info.Size > j.r.opt.PartsLimit }

// keepBefore keeps the old content before it is displaced, unless keepAfter can move
// the file.
func (j *job) keepBefore() error {
	if j.old == nil || j.tooLarge() || j.movable() {
		return nil
	}
	return j.copyOld(j.old)
}

// keepAfter keeps the displaced content, unless keepBefore did.
func (j *job) keepAfter(displaced *os.File, aside string) error {
	if j.kept {
		return nil
	}
	if j.tooLarge() {
		j.lose("the old content: too large to be kept, there is no undo")
		return nil
	}
	if aside == "" || !j.movable() || j.moveOld(displaced, aside) != nil {
		return j.copyOld(displaced)
	}
	return nil
}

func (j *job) copyOld(f *os.File) error {
	s := j.r.state
	err := s.versions.keep(content{r: f, size: j.info.Size, version: j.was})
	if errors.Is(err, errOther) {
		return &Error{Err: ErrChanged, Now: j.versionNow()}
	}
	if err == nil {
		err = s.versions.sync(j.was)
	}
	if err != nil {
		return s.fault("keep the old version", err)
	}
	j.afterKeeping()
	return nil
}

func (j *job) moveOld(displaced *os.File, aside string) error {
	s, to := j.r.state, ""
	err := s.versions.take(j.was, j.info.Size, func(file string) error {
		to = file
		return j.pl.dir.MoveOut(aside, file)
	})
	if err != nil {
		return err
	}
	// The file is where it belongs: nothing after this may fail.
	now := time.Now()
	if err := errors.Join(displaced.Chmod(0o600), os.Chtimes(to, now, now)); err != nil {
		j.r.opt.Log.Warn("a kept version has the mode or time of its file", "err", s.fault("keep", err))
	}
	j.afterKeeping()
	return nil
}

// afterKeeping makes the backup, whose source is the kept version.
func (j *job) afterKeeping() {
	j.kept = true
	if !j.mode.Backup {
		return
	}
	s := j.r.state
	file, err := s.versions.backup(s.tree, j.pl.path, j.was)
	if err != nil {
		j.lose(s.fault("the backup, though the old version is kept", err).Error())
		return
	}
	j.out.Backup = file
}

// lose notes what could not be kept. It is called in the commit, while out.Lost may
// be written to.
func (j *job) lose(what string) { j.unkept = append(j.unkept, what) }

// version returns the version of the file that was opened, "" where there is none.
func (j *job) version() (Version, error) {
	if j.old == nil {
		return "", nil
	}
	now, n, err := sum(j.ctx, j.old)
	j.info.Size = n
	return now, err
}

// versionNow returns the version of the file that is there now, as far as it can be
// told.
func (j *job) versionNow() Version {
	f, err := j.pl.dir.Open(j.pl.name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := atomicfile.StatFile(f); err != nil || !st.Mode.IsRegular() {
		return ""
	}
	v, _, err := sum(j.ctx, f)
	if err != nil {
		return ""
	}
	return v
}
