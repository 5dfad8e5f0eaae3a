package npm

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// Set is the packages of from/package-lock.json, for the tests of one process. The first test that needs them installs them.
type Set struct {
	From, Name string // the arguments of Install

	once sync.Once
	dir  string
	err  error // the reason to skip
}

// Need returns the node_modules directory of the packages. If they cannot be installed, or with -short, it skips or fails the
// test: see Required.
func (s *Set) Need(t testing.TB) string {
	t.Helper()
	s.once.Do(func() {
		if testing.Short() {
			s.err = errors.New("switched off by -short")
			return
		}
		s.dir, s.err = Install(s.From, s.Name)
	})
	switch {
	case s.err == nil:
		return filepath.Join(s.dir, "node_modules")
	case Required():
		t.Fatalf("required, but cannot run: %v", s.err)
	}
	t.Skip(s.err)
	return ""
}
