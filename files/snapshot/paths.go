package snapshot

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Contains reports whether a path is a directory, or in it. Both are absolute, and nothing is looked up.
func Contains(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// Resolve returns an absolute path with the links in it resolved, as far as it is there.
func Resolve(p string) string {
	rest := ""
	for at := p; ; at = filepath.Dir(at) {
		if r, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(r, rest)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(p)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Resolver resolves paths as Resolve does, and remembers the directories that it has seen. The zero value is usable.
type Resolver struct{ dirs map[string]string }

// Resolve is Resolve.
func (r *Resolver) Resolve(p string) string {
	name, above := filepath.Base(p), filepath.Dir(p)
	dir, known := r.dirs[above]
	if !known {
		if r.dirs == nil {
			r.dirs = map[string]string{}
		}
		dir = Resolve(above)
		r.dirs[above] = dir
	}
	if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode()&fs.ModeSymlink == 0 || name == ".." || above == p {
		return filepath.Join(dir, name)
	}
	return Resolve(p)
}

// Exists reports whether something is at a path.
func Exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// Glob returns the paths that a pattern of the shell names. It looks at no more than *left names, and takes them off; below 0: there are more.
func Glob(pattern string, left *int) (found []string) {
	dir, name := filepath.Split(pattern)
	if !strings.ContainsAny(pattern, `*?[\`) {
		if *left--; *left < 0 || !Exists(pattern) {
			return nil
		}
		return []string{pattern}
	}
	for _, dir := range Glob(filepath.Clean(dir), left) {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		for *left >= 0 {
			names, err := f.Readdirnames(min(1000, *left+1))
			*left -= len(names)
			for _, n := range names {
				if ok, err := filepath.Match(name, n); ok && err == nil {
					found = append(found, filepath.Join(dir, n))
				}
			}
			if err != nil {
				break
			}
		}
		_ = f.Close()
	}
	slices.Sort(found)
	return found
}

// Below returns the paths of files below a directory, without git's objects. It looks at no more than that many files and directories; left is how many of
// them it did not need, below 0 if there are more.
func Below(dir string, most int) (files []string, left int) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // what cannot be read is left out
		if err != nil {
			return nil
		}
		if most--; most < 0 {
			return fs.SkipAll
		}
		if d.IsDir() && d.Name() == "objects" && filepath.Base(filepath.Dir(p)) == ".git" {
			return fs.SkipDir
		}
		if !d.IsDir() && p != dir {
			files = append(files, p)
		}
		return nil
	})
	return files, most
}

// Text returns the text of a file of at most that many bytes, and "" where there is no file. ok is false for anything else.
func Text(path string, most int64) (text string, ok bool) {
	b, err := readRegular(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return "", true
	}
	return string(b), err == nil && utf8.Valid(b)
}

// readRegular returns the content of a regular file of at most that many bytes. It never waits: not for a pipe, either.
func readRegular(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil, errors.Join(err, errUnsteady)
	}
	return io.ReadAll(io.LimitReader(f, most))
}
