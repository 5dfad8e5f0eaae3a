package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// versions is a store of file contents outside of the tree, by content hash, in the directory kept. A version in it may be
// the base of a later merge, or may be restored by undo. A backup is a second name of a kept version, in the directory
// backups. Both have limits of age and size: see retention.go.
type versions struct {
	dir      stateDir
	maxBytes int64         // of kept versions, and of backups
	maxAge   time.Duration // of both

	mu     sync.Mutex
	known  map[Version]bool // kept versions, so that keeping one again needs no system call
	looked bool             // the first pruning was started
	grown  int64            // bytes kept since the last pruning

	pruneMu sync.Mutex     // held by a running pruning
	pruning sync.WaitGroup // running prunings
	ctx     context.Context
	stop    context.CancelFunc // ends pruning
}

const (
	maxKnown = 10_000
	newKept  = "new-" // begins the name of an incomplete version
)

func openVersions(dir stateDir, o Options) *versions {
	s := &versions{dir: dir, maxBytes: o.KeepBytes, maxAge: o.KeepAge}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

func (s *versions) close() {
	s.stop()
	s.pruning.Wait()
}

// Kept returns the bytes of a kept version. The caller owns them. ErrNotFound means that it was never kept, that retention
// has removed it, or that the copy is damaged. These contents are kept: files of up to WriteLimit that ReadAll or Page has
// read completely or that were written, and files of up to PartsLimit that were overwritten.
func (r *Root) Kept(v Version) ([]byte, error) {
	return do(r, "read version", string(v), func() ([]byte, error) { return r.state.versions.bytes(v) })
}

// file returns the path of the file of a kept version.
func (s *versions) file(v Version) (string, error) {
	if len(v) != 2*sha256.Size || strings.Trim(string(v), "0123456789abcdef") != "" {
		return "", because(ErrNotFound, "not a version")
	}
	return s.dir.path("kept", string(v[:2]), string(v[2:])), nil
}

func (s *versions) bytes(v Version) ([]byte, error) {
	file, err := s.file(v)
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

// keep stores a content. It does not sync.
func (s *versions) keep(c content) error {
	s.mu.Lock()
	known := s.known[c.version]
	s.mu.Unlock()
	if known {
		return nil
	}
	file, err := s.file(c.version)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(file); err != nil || fi.Size() != c.size {
		if err := s.copy(c); err != nil {
			return err
		}
	} else if now := time.Now(); now.Sub(fi.ModTime()) > time.Hour {
		_ = os.Chtimes(file, now, now) // its age begins again
	}
	s.note(c.version, c.size)
	return nil
}

// copy writes a content to its file. It returns errOther if the bytes do not have the version.
func (s *versions) copy(c content) error {
	temp := s.dir.path("kept", newKept+randomName(8))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyHashed(context.Background(), f, c)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.place(c.version, func(file string) error { return os.Rename(temp, file) })
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// place calls move with the path of a version's file. If move fails, the directory of the file may be missing. Then place
// makes it and calls move again.
func (s *versions) place(v Version, move func(file string) error) error {
	file, err := s.file(v)
	if err != nil || move(file) == nil {
		return err
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return move(file)
}

// take makes an existing file the kept version. move gets the path of the version's file.
func (s *versions) take(v Version, size int64, move func(file string) error) error {
	if err := s.place(v, move); err != nil {
		return err
	}
	s.note(v, size)
	return nil
}

// sync makes a kept version durable.
func (s *versions) sync(v Version) error {
	file, err := s.file(v)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// note records that a version is kept, and starts pruning if it is time.
func (s *versions) note(v Version, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxKnown {
		s.known = map[Version]bool{}
	}
	s.known[v] = true
	s.grown += size
	first := !s.looked
	if !first && s.grown < min(pruneEvery, s.maxBytes/4) {
		return
	}
	s.looked, s.grown = true, 0
	s.pruning.Go(func() { s.prune(first) })
}

// forget makes the next keep of every version look at the disk.
func (s *versions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = nil
}

// backup makes a backup of a file in the tree from a kept version, and returns its path. If the file system has no links,
// the backup is a copy.
func (s *versions) backup(tree, canonical string, v Version) (string, error) {
	kept, err := s.file(v)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, tree)
	treeName := fmt.Sprintf("%s-%08x", cutName(path.Base(tree)), uint32(h.Sum64()))
	dir := s.dir.path("backups", treeName, filepath.FromSlash(path.Dir(canonical)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	stamp := time.Now().UTC().Format("20060102T150405.000000")
	file := filepath.Join(dir, cutName(path.Base(canonical))+"."+stamp+"-"+randomName(2)+".bak")
	if err := os.Link(kept, file); err == nil {
		return file, nil
	}
	return file, copyFile(file, kept)
}

// cutName shortens a name so that something can be added to it.
func cutName(s string) string {
	s = strings.Trim(s, "/")
	return strings.ToValidUTF8(s[:min(len(s), 180)], "_")
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// contentOf returns a content in memory.
func contentOf(data []byte, v Version) content {
	return content{r: bytes.NewReader(data), size: int64(len(data)), version: v}
}

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
