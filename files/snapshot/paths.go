package snapshot

import "path/filepath"

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
