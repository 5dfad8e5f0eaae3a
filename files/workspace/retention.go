package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	pruneEvery = 64 * mb        // bytes that are kept between two prunings
	pruneAfter = time.Hour      // time between the first prunings of two processes that share the state
	maxKept    = 200_000        // files
	abandoned  = time.Hour      // age after which an incomplete version may be removed
	trustAfter = 24 * time.Hour // age after which a time that the clock has shown is trusted
)

// prune removes old kept versions and backups until they are within the limits of age and size. With skipRecent it does
// nothing if another process has pruned in the last hour.
func (s *versions) prune(skipRecent bool) {
	s.pruneMu.Lock()
	defer s.pruneMu.Unlock()
	mark := s.dir.path("kept", "pruned")
	if fi, err := os.Stat(mark); skipRecent && err == nil && time.Since(fi.ModTime()) < pruneAfter {
		return
	}
	now := time.Now()
	was, _ := os.ReadFile(mark) // without the file nothing is old yet
	times := advance(string(was), now)
	if err := os.WriteFile(mark, []byte(times.String()), 0o600); err != nil {
		return
	}
	_ = os.Chtimes(mark, now, now)
	s.forget()
	s.pruneDir(s.dir.path("kept"), mark, times.trusted)
	s.pruneDir(s.dir.path("backups"), "", times.trusted)
	s.forget()
}

// clockTimes are times that the clock has shown at earlier prunings. Ages are measured from the trusted time. So a clock
// that jumps ahead does not make everything old at once.
type clockTimes struct {
	trusted time.Time // the clock showed it at least trustAfter ago; zero: nothing is old
	shown   time.Time // the next trusted time
}

// advance adds now to the times in the mark file.
func advance(mark string, now time.Time) clockTimes {
	var trusted, shown int64
	if n, err := fmt.Sscan(mark, &trusted, &shown); n < 2 || err != nil {
		return clockTimes{shown: now}
	}
	t := clockTimes{time.Unix(trusted, 0), time.Unix(shown, 0)}
	switch {
	case t.shown.After(now): // the clock was set back
		t.shown = now
	case now.Sub(t.shown) >= trustAfter:
		t.trusted, t.shown = t.shown, now
	}
	if t.trusted.After(now) {
		t.trusted = now
	}
	return t
}

func (t clockTimes) String() string { return fmt.Sprintln(t.trusted.Unix(), t.shown.Unix()) }

// pruneDir removes the oldest files below dir while they are too old at now, take too many bytes, or are too many. It never
// removes the file except.
func (s *versions) pruneDir(dir, except string, now time.Time) {
	type keptFile struct {
		path string
		size int64
		time time.Time
	}
	var files []keptFile
	var total int64
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if s.ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() || p == except {
			return nil
		}
		fi, err := d.Info()
		if err == nil && (!strings.HasPrefix(d.Name(), newKept) || time.Since(fi.ModTime()) > abandoned) {
			files = append(files, keptFile{p, fi.Size(), fi.ModTime()})
			total += fi.Size()
		}
		return nil
	})
	slices.SortFunc(files, func(a, b keptFile) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.path, b.path)) })
	left := len(files)
	for _, f := range files {
		old := now.Sub(f.time) > s.maxAge
		if !old && total <= s.maxBytes && left <= maxKept || s.ctx.Err() != nil {
			break
		}
		// Another process may prune at the same time. A file that it has removed counts as removed.
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= f.size
			left--
		}
	}
}
