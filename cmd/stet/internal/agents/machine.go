package agents

import (
	"cmp"
	"path/filepath"
	"strings"
)

// Machine is the part of an agent's environment that its configuration depends on.
type Machine struct {
	Env []string // "NAME=value", as in os.Environ; the last of several with one name counts
	Dir string   // the working directory, absolute

	Lasting Lasting // the result of AddProxy

	// Version returns the version that a program prints, or "". nil: no version is known.
	Version func(program string) string
	// Upstream returns the base URL to which the proxy sends the requests of an agent that asked at found by an API. "" is the
	// provider's own, for both. nil: found.
	Upstream func(api string, found string) string
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

// firstSet returns the first of these variables that is set, with its value. If none is set, it returns the first one.
func (m Machine) firstSet(names ...string) (name, value string) {
	for _, name := range names {
		if v := m.Getenv(name); v != "" {
			return name, v
		}
	}
	return names[0], ""
}

// Home returns the home directory, or "". A relative home does not count, because it would be below the working directory.
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

// inHome returns a file in the directory that a variable names, or else in a directory of the person's home; "" if there is neither.
func (m Machine) inHome(variable, dir string, name ...string) string {
	at := cmp.Or(m.Getenv(variable), m.BelowHome(filepath.FromSlash(dir)))
	if at == "" {
		return ""
	}
	return filepath.Join(append([]string{at}, name...)...)
}

// Absolute returns a path relative to the working directory as an absolute path.
func (m Machine) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.Dir, path)
}
