package workspace

import (
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// Path names a file or directory in a workspace: relative to the root, with slashes,
// cleaned. Only a Root makes one. Paths can be compared and be keys. Two paths may
// lead to one file, whose Info.Path is then the same. The zero Path names nothing.
type Path struct {
	name string
	dir  bool // it ended in a slash: only a directory will do
}

// String returns the path as text, "." for the root.
func (p Path) String() string { return p.name }

const (
	maxPath = 4096 // characters
	maxName = 255  // bytes
)

var (
	drive = regexp.MustCompile(`^[A-Za-z]:`)
	url   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:/`)
	coded = regexp.MustCompile(`(?i)%(2f|5c|00)|%2e%2e`)
)

// Path parses a path as the file tools take it: relative, with slashes, without "..".
// Anything else is ErrPath, with the path to use instead where there is one. The disk
// is looked at for that path only. (FILE-7)
func (r *Root) Path(s string) (Path, error) {
	if why := r.illFormed(s); why != "" {
		return Path{}, fail("open", short(s), ErrPath, why)
	}
	p := clean(s)
	for _, form := range []string{s, p.name} { // "./~" is "~"
		if why := r.absolute(form); why != "" {
			return Path{}, fail("open", short(s), ErrPath, why)
		}
		if form == "~" || strings.HasPrefix(form, "~/") {
			return Path{}, fail("open", short(s), ErrPath, "~ is not expanded; use a path relative to the workspace")
		}
	}
	if strings.Contains(s, `\`) {
		return Path{}, fail("open", short(s), ErrPath, "it holds a backslash; use slashes: "+Quote(strings.ReplaceAll(s, `\`, "/")))
	}
	if m := coded.FindString(s); m != "" {
		return Path{}, fail("open", short(s), ErrPath, m+" is not decoded; write the name itself")
	}
	if hasDotDot(s) {
		return Path{}, fail("open", short(s), ErrPath, `".." is not allowed; use `+r.instead(s))
	}
	return p, nil
}

// instead is the path to use instead of one that is absolute or holds "..": the
// one it leads to, if that is inside.
func (r *Root) instead(s string) string {
	if p, err := r.Resolve(s); err == nil && short(p.name) == p.name {
		return Quote(p.name)
	}
	return "a path relative to the workspace"
}

// illFormed says what is wrong with a path that no caller may use.
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
	case url.MatchString(s) && !drive.MatchString(s):
		return "it is a URL; use a path relative to the workspace"
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

// badName says what is wrong with a name that this system takes for another one.
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

func (r *Root) absolute(s string) string {
	if s[0] != '/' && s[0] != '\\' && !drive.MatchString(s) {
		return ""
	}
	return "it is absolute; use " + r.instead(s)
}

// inside cuts the root off an absolute path with slashes. What is left may
// hold "..": it is "." for the root itself.
func (r *Root) inside(abs string) (string, bool) {
	for _, root := range r.prefixes {
		if rest, ok := cutRoot(abs, root); ok {
			return rest, true
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

// Resolve parses a path as Read takes it: it may be absolute and have "..", if it leads
// to something inside the root, which is looked for on the disk. The error does not
// say what is outside. (FILE-7, READ-5)
func (r *Root) Resolve(s string) (Path, error) {
	if why := r.illFormed(s); why != "" {
		return Path{}, fail("open", short(s), ErrPath, why)
	}
	outside := fail("open", short(s), ErrPath, "it is outside the workspace")
	name := s
	if runtime.GOOS == "windows" {
		name = filepath.ToSlash(s)
	}
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
	return do(r, "open", short(s), func() (Path, error) {
		pl, err := r.resolve(name, resolving{dotdot: true})
		if err == nil {
			defer pl.close()
			return Path{name: pl.path}, nil
		}
		// ".." may leave the root, and the names after it may lead into it again.
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

// short cuts a very long path, for an error.
func short(s string) string {
	if len(s) <= 200 {
		return s
	}
	return s[:200] + "…"
}
