package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/limits"
)

// TestPathRules covers FILE-7 and the hazard of unusual path arguments.
func TestPathRules(t *testing.T) {
	tr := newTree(t, Options{})
	good := map[string]string{
		"a":            "a",
		"./a/b":        "a/b",
		"a//b/./c":     "a/b/c",
		"dir/":         "dir",
		".":            ".",
		"./":           ".",
		"a b/ü.txt":    "a b/ü.txt",
		"..a/b..":      "..a/b..",
		"100%.txt":     "100%.txt",
		"~x/y~":        "~x/y~",
		"a:b.txt":      "", // it looks like a drive letter
		"ab:c":         "ab:c",
		"new\nline":    "new\nline",
		"\u202ertl.go": "\u202ertl.go",
	}
	for in, want := range good {
		p, err := tr.Root.Path(in)
		if want == "" {
			wantErr(t, in, err, ErrPath)
		} else if err != nil || p.String() != want {
			t.Errorf("%q: got %q, %v", in, p, err)
		}
	}
	bad := []string{
		"", "a\x00b", "..", "../x", "a/../b", "a/..", "/etc/passwd", "/", `\x`, `a\b`, `\\host\share`,
		`C:\x`, "c:/x", "C:x", "file:///etc/passwd", "http://host/x", "a%2fb", "%2e%2e/x", "a%5Cb", "x%00",
		"~", "~/x", "./~/x", "./c:x", "bad\xffutf8", strings.Repeat("a/", 2050), strings.Repeat("x", 256), "a/" + strings.Repeat("é", 128),
	}
	for _, in := range bad {
		_, err := tr.Root.Path(in)
		wantErr(t, limits.Shorten(in, 200), err, ErrPath)
		if err != nil && (strings.ContainsAny(err.Error(), "\n\x00") || len(err.Error()) > 400) {
			t.Errorf("%q: the error is no clear line: %q", limits.Shorten(in, 200), err)
		}
	}
}

// A name that has the signs of another form is the name of a file that is there, also as the tools show it. Such names are not made
// anew. (FILE-7)
func TestNamesOfOtherForms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	tr := newTree(t, Options{})
	for _, name := range []string{"a:b.txt", "c:/d", `a\b`, "a%2fb", "~", "~/x", "http:/x", "a\nb", "tab\tc", `q"q`} {
		for _, parse := range []func(string) (Path, error){tr.Root.Path, tr.Resolve} {
			if p, err := parse(name); err == nil && strings.ContainsAny(name, `:\%`) {
				if _, err := tr.Page(t.Context(), p, PageRequest{}); err == nil {
					t.Errorf("%q is there before it is made: %v", name, p)
				}
			}
		}
		tr.put(name, "x")
		for _, form := range []string{name, "./" + name, Quote(name), strings.Trim(Quote(name), `"`)} {
			if name == "~" || name == "~/x" || strings.HasPrefix(name, "http:") {
				form = name
			}
			for _, parse := range []func(string) (Path, error){tr.Root.Path, tr.Resolve} {
				p, err := parse(form)
				if err == nil {
					_, err = tr.Page(t.Context(), p, PageRequest{})
				}
				if err != nil || p.String() != name {
					t.Errorf("%q of %q: %q, %v", form, name, p, err)
				}
			}
		}
		if err := os.RemoveAll(filepath.Join(tr.dir, strings.Split(name, "/")[0])); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"x:y": "a path of a drive", `x\y`: "use slashes: x/y", `x\ny`: "use slashes"} {
		if _, err := tr.Root.Path(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A path may have up to 4096 characters, independent of their size in bytes. Such a path can be used. (FILE-7)
func TestLongestPath(t *testing.T) {
	tr := newTree(t, Options{})
	dir := strings.Repeat(strings.Repeat("é", 100)+"/", 40)
	name := dir + strings.Repeat("x", 4096-utf8.RuneCountInString(dir))
	if _, err := tr.Root.Path(name + "y"); !errors.Is(err, ErrPath) {
		t.Errorf("4097 characters: %v", err)
	}
	if _, err := tr.Write(t.Context(), tr.path(name), []byte("1\n"), "", WriteMode{CreateDirs: true}); err != nil {
		t.Fatal(err)
	}
	if c, err := tr.ReadAll(t.Context(), tr.path(name)); err != nil || string(c.Data) != "1\n" {
		t.Errorf("%q, %v", c.Data, err)
	}
	if pg, err := tr.Page(t.Context(), tr.path(name), PageRequest{}); err != nil || len(pg.Lines) != 1 {
		t.Errorf("%+v, %v", pg, err)
	}
}

// The error for an absolute path, or for "..", names the path to use. (FILE-7)
func TestAbsolutePathIsTold(t *testing.T) {
	tr := newTree(t, Options{})
	_, err := tr.Root.Path(filepath.Join(tr.dir, "src", "a.go"))
	wantErr(t, "absolute", err, ErrPath)
	if err == nil || !strings.Contains(err.Error(), "use src/a.go") {
		t.Errorf("got %v", err)
	}
	tr.put("src/a.go", "a")
	tr.link("src", "link")
	tr.link(tr.out, "away")
	for in, want := range map[string]string{
		"d/../a.txt": "a.txt", "src/../a.txt": "a.txt", "link/../src/a.go": "src/a.go", "src/a.go/../x": "src/x", "away/../a.txt": "a.txt",
		"src/..": ".", "./src/./../src": "src", filepath.Join(tr.dir, "link") + "/../x": "x", "..": "a path relative", "../x": "a path relative",
		"src/../../x": "a path relative", tr.dir + "/../x": "a path relative", "/etc/passwd": "a path relative",
		"d/../" + strings.Repeat("x/", 200) + "y": "a path relative",
	} {
		if _, err := tr.Root.Path(in); err == nil || !strings.Contains(err.Error()+" ", "; use "+want+" ") {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
	_, err = tr.Root.Path(filepath.Join(tr.out, "secret"))
	if err == nil || strings.Contains(err.(*Error).Detail, tr.out) {
		t.Errorf("got %v", err)
	}
}

// Names with characters that are not printable are escaped in errors.
func TestErrorsAreOneLine(t *testing.T) {
	tr := newTree(t, Options{})
	_, err := tr.read("a\x1b[31m\n\u202eb")
	wantErr(t, "read", err, ErrNotFound)
	if got, want := err.Error(), `read "a\x1b[31m\n\u202eb": no such file or directory`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestResolve checks the paths that are accepted for reading. (FILE-7, READ-5)
func TestResolve(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("src/a.go", "a")
	tr.link("src", "link")
	base := filepath.Base(tr.dir)
	good := map[string]string{
		"src/a.go":                    "src/a.go",
		"src/../src/a.go":             "src/a.go",
		"link/../src/a.go":            "src/a.go",
		filepath.Join(tr.dir, "src"):  "src",
		tr.dir:                        ".",
		tr.dir + "/":                  ".",
		tr.dir + "//src/./a.go":       "src/a.go",
		tr.dir + "/src/../src/new.go": "src/new.go",
		"../" + base + "/src/a.go":    "src/a.go",
	}
	for in, want := range good {
		p, err := tr.Resolve(in)
		if err != nil || p.String() != want {
			t.Errorf("%q: got %q, %v, want %q", in, p, err, want)
		}
	}
	for _, in := range []string{"..", "../x", "/etc/passwd", "/", tr.dir + "x", tr.dir + "/../outside/x", "src/../../outside", "", "a\x00", "file:///x", tr.out} {
		_, err := tr.Resolve(in)
		wantErr(t, in, err, ErrPath)
	}
}

// An absolute path that leads into the workspace is made relative, in any spelling of the root; other paths stay as they are. Only a
// path that leaves the root is said to be outside. (FILE-7)
func TestRelative(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("src/a.go", "a")
	tr.link(tr.out, "away")
	base := filepath.Dir(tr.dir)
	link := filepath.Join(base, "link")
	for to, name := range map[string]string{tr.dir: link, base: filepath.Join(base, "up")} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	given, err := Open(link, Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	for _, r := range []*Root{tr.Root, given} {
		for _, root := range []string{
			tr.dir, link, filepath.Join(base, "up", "root"), filepath.Join(base, "up", "link"), base + "//root", base + "/./root", "/" + tr.dir, link + "/.",
		} {
			for in, want := range map[string]string{"": ".", "/": ".", "/src/a.go": "src/a.go", "//src//a.go": "src/a.go", "/src/": "src/", "/no/new.go": "no/new.go"} {
				if got := r.Relative(root + in); got != want {
					t.Errorf("%s: %q, want %q", root+in, got, want)
				}
			}
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for in, outside := range map[string]bool{
		tr.dir + "x": true, tr.dir + "/../outside/x": true, tr.out: true, "/": true, "/etc/passwd": true, "..": true, "src/../../x": true, `..\x`: true,
		`C:\x`: true, "%2e%2e/x": true, `\\host\share`: true, "~/.ssh/id_rsa": !strings.HasPrefix(tr.dir, home+"/.ssh"),
		"src/../src/a.go": false, tr.dir + "/src/../src/a.go": false, tr.dir + "/src/a.go": false, `src\a.go`: false, "src%2fa.go": false, "": false, "a\x00": false,
	} {
		if tr.Relative(in) != in && in != tr.dir+"/src/a.go" {
			t.Errorf("%q became %q", in, tr.Relative(in))
		}
		var e *Error
		if _, err := tr.Root.Path(in); !errors.As(err, &e) || e.Err != ErrPath || e.Outside != outside {
			t.Errorf("%q: %+v, outside %v", in, e, outside)
		}
	}
	var e *Error
	if _, err := tr.Inspect(tr.path("away/x")); !errors.As(err, &e) || !e.Outside {
		t.Errorf("a link that leaves: %+v", e)
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "/abs", "a\x00", `c:\x`, "%2e%2e", "x//./y/", "~", "ü/\u202e"} {
		f.Add(s)
	}
	tr := newTree(f, Options{})
	tr.put("a/b", "x")
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := tr.Root.Path(s); err == nil {
			if strings.HasPrefix(p.name, "/") || hasDotDot(p.name) || p.name == "" || strings.ContainsRune(p.name, 0) {
				t.Fatalf("%q became %q", s, p.name)
			}
			again, err := tr.Root.Path(p.name)
			if err != nil || again.name != p.name {
				t.Fatalf("%q: not stable: %q, %v", s, again, err)
			}
			if _, err := tr.Inspect(p); err != nil && !known(err) {
				t.Fatalf("%q: %v", s, err)
			}
		} else {
			wantErr(t, s, err, ErrPath)
		}
		if p, err := tr.Resolve(s); err == nil {
			if _, err := tr.ReadAll(ctx, p); err != nil && !known(err) {
				t.Fatalf("%q: %v", s, err)
			}
		}
	})
}

// known reports whether a model can act on an error.
func known(err error) bool {
	for _, e := range []error{ErrNotFound, ErrPermission, ErrPath, ErrEncoding, ErrTooLarge, ErrChanged, ErrIsDirectory, ErrBinary, ErrSpecial, ErrProtected, ErrRange} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
