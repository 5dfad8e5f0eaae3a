package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// Glob returns the paths that a pattern of the shell names.
func Glob(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	return found
}

// Text returns the text of a file of at most that many bytes, and "" where there is no file. ok is false for anything else.
func Text(path string, most int64) (text string, ok bool) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", true
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", false
	}
	b, err := os.ReadFile(path)
	return string(b), err == nil && utf8.Valid(b)
}
