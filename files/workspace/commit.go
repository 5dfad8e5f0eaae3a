package workspace

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// A commit puts the new file of a write in place. Only one stet process at a time commits to a file. This is so even if the
// processes have different state directories. docs/replacing-files.md describes the method and proves it.

const (
	lockPatience  = time.Second      // time to wait for the lock of a directory; without it a commit continues
	claimPatience = 10 * time.Second // time to wait for the claim of another process
	claimDead     = 3 * time.Second  // time after which the maker of an unchanged claim is considered dead
	pollMin       = 100 * time.Microsecond
	pollMax       = 5 * time.Millisecond

	// unlockedEnd is the end of a claim that was made without the directory's lock.
	unlockedEnd = "-unlocked"
)

// seams are for tests: they pause a commit, disable the directory's lock, and replace the clock. The zero value does
// nothing.
type seams struct {
	unlocked bool              // never take the lock of a directory
	pause    func(what string) // called at several steps of a commit
	now      func() time.Time  // the clock of the time limit of counting lines; nil: time.Now
}

func (s *seams) time() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

func (s *seams) step(what string) {
	if s.pause != nil {
		s.pause(what)
	}
}

// commit calls do while no other stet process commits to the same file. It does so only if the examined file is still in its
// place. Otherwise it returns errMoved, and the caller looks again. temp is the name of the temporary file.
func (fc *fileChange) commit(temp string, do func() error) error {
	unlock, err := fc.lockDir()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	text := temp
	if err == nil {
		defer unlock()
	} else {
		text += unlockedEnd
	}
	release, err := fc.claim(text)
	if err != nil {
		return err
	}
	defer release()
	fc.r.seams.step("claimed")
	if fc.old != nil {
		now, err := fc.pl.dir.Stat(fc.pl.name)
		if err != nil {
			return err
		}
		if !now.Same(fc.info) {
			return errMoved
		}
	}
	fc.r.seams.step("looked")
	return do()
}

// leaveAsIs checks that the examined file is in its place, and that no other commit holds the file's claim. A file of an
// unfinished commit may still be removed again.
func (fc *fileChange) leaveAsIs() error {
	name, err := fc.tempName()
	if err != nil {
		return err
	}
	return fc.explain(fc.commit(name, func() error { return nil }))
}

// lockDir takes the lock of the directory. errors.ErrUnsupported means that locks are not supported, or that the lock is not free in time:
// another program may hold it.
func (fc *fileChange) lockDir() (unlock func(), err error) {
	if fc.r.seams.unlocked {
		return nil, errors.ErrUnsupported
	}
	deadline := time.Now().Add(lockPatience)
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		unlock, err := fc.pl.dir.TryLock()
		if !errors.Is(err, atomicfile.ErrLocked) {
			return unlock, err
		}
		if time.Now().After(deadline) {
			return nil, errors.ErrUnsupported
		}
		if err := sleep(fc.ctx, pause); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claimName returns the name of the claim to a file in its directory.
func claimName(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(fold(name)))
	return fmt.Sprintf("%sclaim-%016x%s", tempPrefix, h.Sum64(), tempEnd)
}

// claim makes the claim to the file, a symbolic link with the target text. It returns the function that removes the claim.
// If links cannot be made, claim does nothing.
func (fc *fileChange) claim(text string) (release func(), err error) {
	dir, name := fc.pl.dir, claimName(fc.pl.name)
	began := time.Now()
	watched, since := "", began
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		err := dir.Symlink(text, name)
		if err == nil {
			return func() {
				if now, err := dir.Readlink(name); err == nil && now == text {
					_ = dir.Remove(name)
				}
			}, nil
		}
		if noLinks(err) {
			return func() {}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		other, err := dir.Readlink(name)
		now := time.Now()
		if err != nil || other != watched {
			watched, since = other, now
		}
		switch {
		case now.Sub(since) > claimDead && !strings.HasSuffix(text, unlockedEnd) && tempNames.MatchString(watched):
			if err := fc.breakClaim(name, watched); err != nil {
				return nil, err
			}
		case now.Sub(began) > claimPatience:
			return nil, because(ErrPermission, "another process is writing to it, or was killed meanwhile; if none is at work, remove "+path.Join(path.Dir(fc.pl.path), name))
		}
		if err := sleep(fc.ctx, pause); err != nil {
			return nil, err
		}
	}
}

// noLinks reports whether symbolic links cannot be made, because the file system does not support them or the user may not make them.
func noLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// tempNames matches the names that tempName returns.
var tempNames = regexp.MustCompile(`^\.stet-[0-9a-f]{12}-[0-9]+\.tmp$`)

// breakClaim removes the claim of a process that was killed. The caller holds the lock of the directory. That process held
// the same lock, so it is dead, unless the file system does not share locks between machines. For that case breakClaim
// first renames the process's temporary file: without it the process cannot commit. The content of the file is kept as a
// version.
func (fc *fileChange) breakClaim(name, temp string) error {
	mine, err := fc.tempName()
	if err != nil {
		return err
	}
	if err := fc.pl.dir.RenameNew(temp, mine); err == nil {
		fc.r.keepTempFile(fc.pl.dir, mine)
		if err := fc.pl.dir.Remove(mine); err != nil {
			return err
		}
	}
	fc.r.opt.Log.Info("removed what a killed process left", "dir", path.Dir(fc.pl.path), "name", name)
	if err := fc.pl.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
