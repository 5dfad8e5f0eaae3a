package workspace

import (
	"errors"
	"os"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// What is overwritten is kept without a copy where that can be: the displaced
// file itself moves from the tree to the kept versions, and the sync of the
// directory that makes the write durable makes that durable too. Where the
// state is on another file system, the file has other names or another owner,
// or the system cannot exchange files, a copy is made and synced before.

// movable reports whether the old file can become the kept one.
func (j *job) movable() bool {
	st, err := j.r.state.self()
	return err == nil && st.Ino != 0 && st.Dev == j.info.Dev && j.info.Links == 1 &&
		j.info.HasOwner && int(j.info.UID) == os.Geteuid()
}

// tooLarge reports whether the old content is more than is ever kept.
func (j *job) tooLarge() bool { return j.info.Size > j.r.opt.PartsLimit }

// keepBefore keeps the old content before it is displaced, unless that can
// wait.
func (j *job) keepBefore() error {
	if j.old == nil || j.tooLarge() || j.movable() {
		return nil
	}
	return j.copyOld(j.old)
}

// keepAside keeps the displaced content, unless that was done before.
func (j *job) keepAside(displaced *os.File, aside string) error {
	if j.kept {
		return nil
	}
	if j.tooLarge() {
		j.unkept = append(j.unkept, "the old content: too large to be kept, there is no undo")
		return nil
	}
	if aside == "" || !j.movable() || j.moveOld(displaced, aside) != nil {
		return j.copyOld(displaced)
	}
	return nil
}

func (j *job) copyOld(f *os.File) error {
	s := j.r.state
	err := s.keepFrom(f, j.was, j.info.Size)
	if errors.Is(err, errOther) {
		return &Error{Err: ErrChanged, Now: j.versionThere()}
	}
	if err == nil {
		err = s.syncKept(j.was)
	}
	if err != nil {
		return s.fault("keep the old version", err)
	}
	j.afterKeeping()
	return nil
}

func (j *job) moveOld(displaced *os.File, aside string) error {
	s := j.r.state
	file, err := s.keptPath(j.was)
	if err != nil {
		return err
	}
	err = j.pl.dir.MoveOut(aside, file)
	if err != nil {
		if err := s.makeKeptDir(j.was); err != nil {
			return err
		}
		if err := j.pl.dir.MoveOut(aside, file); err != nil {
			return err
		}
	}
	// From here on nothing may fail: the file is where it belongs.
	err = displaced.Chmod(0o600)
	now := time.Now()
	if err := errors.Join(err, os.Chtimes(file, now, now)); err != nil {
		j.r.opt.Log.Warn("a kept version has the mode or time of its file", "err", s.fault("keep", err))
	}
	s.noteKept(j.was, j.info.Size)
	j.afterKeeping()
	return nil
}

// afterKeeping makes the backup, of which the kept version is the source.
func (j *job) afterKeeping() {
	j.kept = true
	if !j.mode.Backup {
		return
	}
	file, err := j.r.state.backup(j.r.prefixes[0], j.pl.path, j.was)
	if err != nil {
		j.unkept = append(j.unkept, j.r.state.fault("the backup, though the old version is kept", err).Error())
		return
	}
	j.out.Backup = file
}

// there returns the version that is there, "" when there is none.
func (j *job) there() (Version, error) {
	if j.old == nil {
		return "", nil
	}
	now, n, err := sum(j.ctx, j.old)
	j.info.Size = n
	return now, err
}

// versionThere is there, asked again, as far as it can be told.
func (j *job) versionThere() Version {
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
