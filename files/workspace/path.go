package workspace

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/limits"
)

// Path names a file or directory in a workspace. It is relative to the root, with slashes, and cleaned. Only a Root makes
// one. Paths can be compared and used as keys. Two paths may lead to the same file. Then Info.Path is the same. The zero
// Path names nothing.
type Path struct {
	name string
	dir  bool // the path ended with a slash: it must be a directory
}

// String returns the path as text. The root is ".".
func (p Path) String() string { return p.name }

const (
	maxPath = 4096 // characters
	maxName = 255  // bytes
)

var (
	drive      = regexp.MustCompile(`^[A-Za-z]:`)
	drivePath  = regexp.MustCompile(`^[A-Za-z]:([/\\]|$)`)
	url        = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)
	posixDrive = regexp.MustCompile(`^/([A-Za-z])(/|$)`)
	coded      = regexp.MustCompile(`(?i)%(2f|5c|00)|%2e%2e`)
)

// Path parses a path in the form that the file tools accept: relative, with slashes, without "..". Any other form gives
// ErrPath, unless it is the name of something in the workspace. The error says which path to use instead, if there is one. The disk is
// read only for paths of another form.
func (r *Root) Path(s string) (Path, error) {
	if why := r.illFormed(s); why != "" {
		return Path{}, fail("open", limits.Shorten(s, 200), ErrPath, why)
	}
	p := clean(s)
	why := r.otherForm(s, p.name)
	if why == "" {
		return p, nil
	}
	if there, ok := r.literal(s); ok {
		return there, nil
	}
	return Path{}, r.refused(s, why)
}

// otherForm says why a path is not in the form that Path accepts, or returns "". name is the cleaned path.
func (r *Root) otherForm(s, name string) string {
	for _, form := range []string{s, name} { // "./~" is "~"
		switch {
		case runtime.GOOS != "windows" && drive.MatchString(form) && !drivePath.MatchString(form):
			return "it begins as a path of a drive does; use another name"
		case isAbsolute(form):
			return "it is absolute; use " + r.instead(form)
		case form == "~" || strings.HasPrefix(form, "~/"):
			return "~ is not expanded; use a path relative to the workspace"
		}
	}
	switch coded := coded.FindString(s); {
	case url.MatchString(s):
		return "it is a URL; use a path relative to the workspace"
	case strings.Contains(s, `\`):
		return "it holds a backslash; use slashes: " + Quote(strings.ReplaceAll(s, `\`, "/"))
	case coded != "":
		return coded + " is not decoded; write the name itself"
	case hasDotDot(s):
		return `".." is not allowed; use ` + r.instead(s)
	}
	return ""
}

// literal returns the path of something in the workspace whose name has the signs of another form, as a:b.txt, or that is written as
// the tools show a name with a line end: with escapes. Windows has no such names.
func (r *Root) literal(s string) (Path, bool) {
	names := []string{s}
	if shown, err := strconv.Unquote(`"` + strings.Trim(s, `"`) + `"`); err == nil {
		names = append(names, shown)
	}
	for _, name := range names {
		if runtime.GOOS == "windows" || r.illFormed(name) != "" || name[0] == '/' || hasDotDot(name) {
			continue
		}
		p := clean(name)
		if t, err := r.Inspect(p); err == nil && t.Exists() {
			return p, true
		}
	}
	return Path{}, false
}

// Relative returns the form of an absolute path that leads into the workspace, in any spelling of the root, as Path takes it. Any
// other path is returned as it is. The disk is read to find the root.
func (r *Root) Relative(s string) string {
	if s == "" || !isAbsolute(s) || r.illFormed(s) != "" {
		return s
	}
	name := r.slashes(s)
	rel, ok := r.inside(path.Clean(name))
	if !ok || hasDotDot(name) {
		return s
	}
	if strings.HasSuffix(name, "/") && rel != "." {
		rel += "/"
	}
	return rel
}

// isAbsolute reports whether a path is absolute on any system.
func isAbsolute(s string) bool { return s[0] == '/' || s[0] == '\\' || drive.MatchString(s) }

// slashes returns a path with slashes. On Windows, the forms of programs of other systems become the usual one.
func (r *Root) slashes(s string) string {
	if runtime.GOOS != "windows" {
		return s
	}
	s = strings.TrimPrefix(filepath.ToSlash(s), "//?/")
	if m := posixDrive.FindStringSubmatch(s); m != nil {
		s = m[1] + ":" + s[2:]
	}
	return s
}

// refused is the error for a path in another form than Path accepts.
func (r *Root) refused(s, why string) error {
	return &Error{Op: "open", Path: limits.Shorten(s, 200), Err: ErrPath, Detail: why, Outside: r.leaves(s)}
}

// decoded has what a path may be that is written in another form.
var decoded = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/")

// leaves reports whether a path, in any form, leads out of the workspace.
func (r *Root) leaves(s string) bool {
	if s = decoded.Replace(s); s == "~" || strings.HasPrefix(s, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return true
		}
		s = home + s[1:]
	}
	var e *Error
	_, err := r.Resolve(s)
	return errors.As(err, &e) && e.Outside
}

// instead says which path to use instead of an absolute path or one with "..". If the path leads outside, it says so in
// general words.
func (r *Root) instead(s string) string {
	if p, err := r.Resolve(s); err == nil && limits.Shorten(p.name, 200) == p.name {
		return Quote(p.name)
	}
	return "a path relative to the workspace"
}

// illFormed says what is wrong with a path that every caller must refuse, or returns "".
func (r *Root) illFormed(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case utf8.RuneCountInString(s) > maxPath:
		return "it has more than 4096 characters"
	case strings.ContainsRune(s, 0):
		return "it holds a NUL"
	case !utf8.ValidString(s):
		return "it is not valid UTF-8"
	}
	for i, c := range strings.Split(s, "/") {
		if len(c) > maxName {
			return "a name in it has more than 255 bytes"
		}
		if why := badName(c, i == 0); why != "" {
			return why
		}
	}
	return ""
}

// badName says what is wrong with a name that this system treats as a different name, or returns "".
func badName(c string, first bool) string {
	onDrive := first && drive.MatchString(c)
	if runtime.GOOS != "windows" || c == "" || c == "." || c == ".." {
		return ""
	}
	switch {
	case strings.Contains(c, ":") && !onDrive:
		return "a name in it holds a colon"
	case strings.HasSuffix(c, ".") || strings.HasSuffix(c, " "):
		return "a name in it ends in a dot or a space"
	case !onDrive && !filepath.IsLocal(c):
		return "a name in it is reserved by the system"
	}
	return ""
}

// inside removes the root from an absolute path with slashes. The rest may have "..". It is "." for the root itself.
func (r *Root) inside(abs string) (string, bool) {
	for _, root := range r.prefixes {
		if rest, ok := cutRoot(abs, root); ok {
			return rest, true
		}
	}
	// Another spelling: through a link, in another case, by a mount. A path with two slashes would be of another machine.
	for i := 1; i <= len(abs) && filepath.IsAbs(filepath.FromSlash(abs)) && !strings.HasPrefix(abs, "//"); i++ {
		if i < len(abs) && abs[i] != '/' || abs[i-1] == ':' { // "c:" is any directory
			continue
		}
		now, err := os.Stat(filepath.FromSlash(abs[:i]))
		if err != nil {
			break
		}
		if os.SameFile(now, r.opened) {
			return cutRoot(abs, abs[:i])
		}
	}
	return "", false
}

func cutRoot(abs, root string) (string, bool) {
	if runtime.GOOS == "windows" && len(abs) >= len(root) && strings.EqualFold(abs[:len(root)], root) {
		root = abs[:len(root)]
	}
	if abs == root {
		return ".", true
	}
	if !strings.HasSuffix(root, "/") {
		root += "/"
	}
	rest, ok := strings.CutPrefix(abs, root)
	rest = strings.TrimLeft(rest, "/")
	if ok && rest == "" {
		rest = "."
	}
	return rest, ok
}

// Resolve parses a path for reading. The path may be absolute and have "..", if it leads to something inside the root.
// Resolve reads the disk to find that out. The error does not say what is outside.
func (r *Root) Resolve(s string) (Path, error) {
	if why := r.illFormed(s); why != "" {
		return Path{}, fail("open", limits.Shorten(s, 200), ErrPath, why)
	}
	if url.MatchString(s) || drive.MatchString(s) || strings.Contains(s, `\`) {
		if p, ok := r.literal(s); ok {
			return p, nil
		}
	}
	if url.MatchString(s) {
		return Path{}, fail("open", limits.Shorten(s, 200), ErrPath, "it is a URL; use a path relative to the workspace")
	}
	outside := &Error{Op: "open", Path: limits.Shorten(s, 200), Err: ErrPath, Detail: "it is outside the workspace", Outside: true}
	name := r.slashes(s)
	if name[0] == '/' || drive.MatchString(name) {
		rel, ok := r.inside(name)
		if !ok {
			rel, ok = r.inside(path.Clean(name))
		}
		if !ok {
			return Path{}, outside
		}
		name = rel
	} else if name[0] == '\\' {
		return Path{}, outside
	}
	if !hasDotDot(name) {
		return clean(name), nil
	}
	return do(r, "open", limits.Shorten(s, 200), func() (Path, error) {
		pl, err := r.resolve(name, resolving{dotdot: true})
		if err == nil {
			defer pl.close()
			return Path{name: pl.path}, nil
		}
		// ".." may leave the root, and the next names may lead into it again.
		if rel, ok := r.inside(path.Clean(r.prefixes[0] + "/" + name)); ok && !hasDotDot(rel) {
			return clean(rel), nil
		}
		return Path{}, outside
	})
}

func hasDotDot(s string) bool {
	return slices.Contains(strings.Split(s, "/"), "..")
}

func clean(s string) Path {
	c := strings.TrimLeft(path.Clean(s), "/")
	return Path{name: c, dir: c != "." && (strings.HasSuffix(s, "/") || strings.HasSuffix(s, "/."))}
}
