package npm

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// Set is what from/package-lock.json pins, for the tests of one process: it is
// installed when the first of them needs it.
type Set struct {
	From, Name string // as Install has them

	once sync.Once
	dir  string
	err  error // the reason to skip
}

// Need returns where the packages are, the directory node_modules. Where they
// cannot be had, and with -short, it ends the test: see Required.
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
