package workspace

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptSet remembers which versions are known to be kept, so that showing a file
// again costs nothing, and when to prune.
type keptSet struct {
	mu     sync.Mutex
	known  map[Version]bool
	looked bool  // whether to prune was asked once
	grown  int64 // bytes since the last pruning

	pruning sync.Mutex // one pruning at a time
}

const (
	maxKnown   = 10_000
	pruneEvery = 64 * mb
	pruneAfter = time.Hour // at most, where several processes share the state
	maxKept    = 200_000   // files

	believeAfter = 24 * time.Hour // after which a time that the clock has shown is taken for true

	newKept   = "new-"    // begins the name of a version that is being written
	abandoned = time.Hour // after which such a file is nobody's
)

// Kept returns a kept version's bytes, the caller's own. ErrNotFound says that
// it never was kept, or is past the retention. Kept are: files of up to WriteLimit
// that were shown whole by ReadAll or Page or were written, and files that were
// overwritten. (FILE-12, FILE-15)
func (r *Root) Kept(v Version) ([]byte, error) {
	if err := r.enter(); err != nil {
		return nil, wrap("read version", string(v), err)
	}
	defer r.leave()
	data, err := r.state.keptBytes(v)
	return data, wrap("read version", string(v), err)
}

func (s *state) keptPath(v Version) (string, error) {
	if len(v) != 64 || v[:2] == ".." {
		return "", because(ErrNotFound, "not a version")
	}
	for _, c := range v {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", because(ErrNotFound, "not a version")
		}
	}
	return s.path("kept", string(v[:2]), string(v[2:])), nil
}

func (s *state) keptBytes(v Version) ([]byte, error) {
	file, err := s.keptPath(v)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if VersionOf(data) != v {
		return nil, because(ErrNotFound, "the kept copy is damaged")
	}
	return data, nil
}

func (s *state) keep(data []byte, v Version) error {
	return s.keepFrom(bytes.NewReader(data), v, int64(len(data)))
}

// keepFrom stores size bytes of r, which v is the version of. It does not sync.
func (s *state) keepFrom(r io.ReadSeeker, v Version, size int64) error {
	s.kept.mu.Lock()
	known := s.kept.known[v]
	s.kept.mu.Unlock()
	if known {
		return nil
	}
	file, err := s.keptPath(v)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(file); err != nil || fi.Size() != size {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := s.storeKept(file, r, v); err != nil {
			return err
		}
	} else if now := time.Now(); now.Sub(fi.ModTime()) > time.Hour {
		_ = os.Chtimes(file, now, now) // its time begins again
	}
	s.noteKept(v, size)
	return nil
}

// errOther says that what was to be kept is another version by now.
var errOther = errors.New("another version")

func (s *state) storeKept(file string, r io.Reader, v Version) error {
	temp := s.path("kept", newKept+randomName(8))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && Version(hex.EncodeToString(h.Sum(nil))) != v {
		err = errOther
	}
	if err == nil {
		err = os.Rename(temp, file)
		if errors.Is(err, fs.ErrNotExist) {
			if err = s.makeKeptDir(v); err == nil {
				err = os.Rename(temp, file)
			}
		}
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// makeKeptDir makes the directory that a version is kept in.
func (s *state) makeKeptDir(v Version) error {
	err := os.Mkdir(s.path("kept", string(v[:2])), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// syncKept makes a kept version durable.
func (s *state) syncKept(v Version) error {
	file, err := s.keptPath(v)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *state) noteKept(v Version, size int64) {
	k := &s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKnown {
		k.known = map[Version]bool{}
	}
	k.known[v] = true
	k.grown += size
	gentle := !k.looked
	if !gentle && k.grown < min(pruneEvery, s.opt.KeepBytes/4) {
		return
	}
	k.looked, k.grown = true, 0
	s.pruning.Go(func() { s.prune(gentle) })
}

// prune holds kept versions and backups to their age and size, the oldest
// going first. A gentle one leaves it when another process has just done it.
func (s *state) prune(gentle bool) {
	s.kept.pruning.Lock()
	defer s.kept.pruning.Unlock()
	mark := s.path("kept", "pruned")
	if fi, err := os.Stat(mark); gentle && err == nil && time.Since(fi.ModTime()) < pruneAfter {
		return
	}
	now := time.Now()
	was, _ := os.ReadFile(mark) // without it nothing is old yet
	times := believe(string(was), now)
	if err := os.WriteFile(mark, []byte(times.String()), 0o600); err != nil {
		return
	}
	_ = os.Chtimes(mark, now, now)
	s.forgetKept()
	s.pruneDir(s.path("kept"), mark, times.believed)
	s.pruneDir(s.path("backups"), "", times.believed)
	s.forgetKept()
}

// clockTimes are what the clock has shown at earlier prunings. Ages are measured
// by the time that is believed, so that a clock that jumps ahead does not make
// everything old at once.
type clockTimes struct {
	believed time.Time // was shown believeAfter ago, or before that; zero: nothing is old
	shown    time.Time // will be believed next
}

// believe adds now to the times that stand in the mark.
func believe(mark string, now time.Time) clockTimes {
	var believed, shown int64
	if n, err := fmt.Sscan(mark, &believed, &shown); n < 2 || err != nil {
		return clockTimes{shown: now}
	}
	t := clockTimes{time.Unix(believed, 0), time.Unix(shown, 0)}
	switch {
	case t.shown.After(now): // the clock was put back
		t.shown = now
	case now.Sub(t.shown) >= believeAfter:
		t.believed, t.shown = t.shown, now
	}
	if t.believed.After(now) {
		t.believed = now
	}
	return t
}

func (t clockTimes) String() string { return fmt.Sprintln(t.believed.Unix(), t.shown.Unix()) }

func (s *state) forgetKept() {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	s.kept.known = nil
}

type keptFile struct {
	path string
	size int64
	time time.Time
}

func (s *state) pruneDir(dir, except string, now time.Time) {
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
		old := now.Sub(f.time) > s.opt.KeepAge
		if !old && total <= s.opt.KeepBytes && left <= maxKept || s.ctx.Err() != nil {
			break
		}
		// Another process may prune too: what it removed is gone as well.
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= f.size
			left--
		}
	}
}
