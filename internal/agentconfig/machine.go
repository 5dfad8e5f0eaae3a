package agentconfig

import (
	"path/filepath"
	"strings"
)

// Machine is where an agent runs, as far as its configuration depends on it.
type Machine struct {
	Env []string // "NAME=value", as os.Environ has it; of two with one name the last counts
	Dir string   // the working directory, absolute

	Lasting Lasting // what AddProxy did
}

// Getenv returns the value of a variable, empty when it is not set.
func (m Machine) Getenv(name string) string {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(m.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// firstSet returns the first of these variables that is set, with its value. Where none is, it is
// the first one.
func (m Machine) firstSet(names ...string) (name, value string) {
	for _, name := range names {
		if v := m.Getenv(name); v != "" {
			return name, v
		}
	}
	return names[0], ""
}

// Home returns the home directory, empty when there is none. A relative one does
// not count, because what is below it would be below the working directory.
func (m Machine) Home() string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if h := m.Getenv(name); filepath.IsAbs(h) {
			return h
		}
	}
	return ""
}

// BelowHome returns a path in the home directory, empty when there is no home.
func (m Machine) BelowHome(names ...string) string {
	home := m.Home()
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, names...)...)
}

// Absolute returns a path as one that begins at the working directory.
func (m Machine) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.Dir, path)
}
