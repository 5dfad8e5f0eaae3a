package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

func listing(t *testing.T, tr *tree, dir string, o ListOptions) []string {
	t.Helper()
	var got []string
	err := tr.Walk(context.Background(), tr.path(dir), o, func(e Entry) error {
		s := e.Path.String()
		if e.Kind == Directory {
			s += "/"
		}
		got = append(got, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWalkAsGit checks that Walk visits the files that git lists. (FILE-18)
func TestWalkAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	tr := newTree(t, Options{})
	for name, text := range map[string]string{
		".gitignore": "*.log\n/build/\nnode_modules\n!keep.log\n", "a.go": "", "x.log": "", "keep.log": "", "build/out": "",
		"src/build/in": "", "src/.gitignore": "!x.log\ngen*\n", "src/x.log": "", "src/gen.go": "", "src/b.go": "",
		"node_modules/m/i.js": "", "deep/node_modules/x": "", "deep/a/b/c.txt": "", "excluded": "", "sp ace/ü.txt": "",
	} {
		tr.put(name, text)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = tr.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "XDG_CONFIG_HOME="+tr.out)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		return string(out)
	}
	run("init", "-q")
	tr.put(".git/info/exclude", "excluded\n")
	want := strings.Split(strings.Trim(run("ls-files", "-z", "-co", "--exclude-standard"), "\x00"), "\x00")
	slices.Sort(want)
	var got []string
	for _, s := range listing(t, tr, ".", ListOptions{}) {
		if !strings.HasSuffix(s, "/") {
			got = append(got, s)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for s, want := range map[string]bool{"x.log": true, "src/x.log": false, "node_modules/m/i.js": true, "a.go": false, ".git/config": true, "build": true, "src/genuine": true, "nowhere/x.log": true, "nowhere/y": false} {
		if got, err := tr.Ignored(tr.path(s)); err != nil || got != want {
			t.Errorf("%s: ignored %v, %v", s, got, err)
		}
	}
}

// list returns the entries of one directory.
func list(tr *tree, p Path, o ListOptions) (all []Entry, err error) {
	o.Depth = 1
	err = tr.Walk(tr.t.Context(), p, o, func(e Entry) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

func TestList(t *testing.T) {
	tr := newTree(t, Options{})
	for _, f := range []string{"b/x", "b/c/y", "a", "skip.me", ".git/HEAD", "\x1b\n"} {
		tr.put(f, "12345")
	}
	tr.put(".git/info/exclude", "skip*\n")
	tr.link("a", "link")
	tr.put(".stet-0011-1.tmp", "litter")
	tr.mustWrite("written", "x", "", WriteMode{})
	if got, want := listing(t, tr, ".", ListOptions{}), []string{"\x1b\n", "a", "b/", "b/c/", "b/c/y", "b/x", "link", "written"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := listing(t, tr, "b", ListOptions{Depth: 1}), []string{"b/c/", "b/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	all, err := list(tr, tr.path("."), ListOptions{Ignored: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%s %v %v", e.Path, e.Kind, e.Ignored))
	}
	want := []string{"\x1b\n file false", ".git directory true", "a file false", "b directory false", "link link false", "skip.me file true", "written file false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	_, err = list(tr, tr.path("a"), ListOptions{})
	wantErr(t, "a file", err, ErrPath)
	_, err = list(tr, tr.path("none"), ListOptions{})
	wantErr(t, "nothing", err, ErrNotFound)
}

// A visitor can end a walk, skip directories, and return an error of its own.
func TestWalkEnds(t *testing.T) {
	tr := newTree(t, Options{})
	for _, f := range []string{"a/1", "a/2", "b/1", "c"} {
		tr.put(f, "")
	}
	mine := errors.New("mine")
	for _, tt := range []struct {
		give error
		n    int
		want error
	}{{fs.SkipDir, 3, nil}, {fs.SkipAll, 1, nil}, {mine, 1, mine}, {nil, 6, nil}} {
		n := 0
		err := tr.Walk(context.Background(), tr.path("."), ListOptions{}, func(e Entry) error {
			n++
			if e.Kind == Directory {
				return tt.give
			}
			return nil
		})
		if err != tt.want || n != tt.n {
			t.Errorf("%v: %d entries, %v", tt.give, n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, "cancelled", tr.Walk(ctx, tr.path("."), ListOptions{}, func(Entry) error { return nil }), context.Canceled)
	ctx, cancel = context.WithCancel(context.Background())
	n := 0
	err := tr.Walk(ctx, tr.path("a"), ListOptions{}, func(Entry) error {
		n++
		cancel()
		return nil
	})
	if wantErr(t, "cancelled in a directory", err, context.Canceled); n != 1 { // FILE-18
		t.Errorf("%d entries after the call was cancelled", n)
	}
}

// TestSpelling checks that a name in another Unicode composition means the existing file, and does not make a second one.
func TestSpelling(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("cafe\u0301/re\u0301sume\u0301.txt", "old")
	if got, err := tr.read("café/résumé.txt"); err != nil || got != "old" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := tr.write("café/résumé.txt", "twin", "", WriteMode{})
	wantErr(t, "twin", err, ErrChanged)
	w := tr.mustWrite("café/résumé.txt", "new", VersionOf([]byte("old")), WriteMode{})
	if w.Path.String() != "cafe\u0301/re\u0301sume\u0301.txt" || tr.get(w.Path.String()) != "new" {
		t.Errorf("wrote %q", w.Path)
	}
}

// Close waits for a walk whose visitor makes more calls, and does not block forever.
func TestCloseDuringWalk(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("a", "x")
	tr.put("b", "x")
	inside, closed := make(chan struct{}), make(chan error)
	go func() {
		<-inside
		closed <- tr.Close()
	}()
	var once sync.Once
	err := tr.Walk(context.Background(), tr.path("."), ListOptions{}, func(e Entry) error {
		once.Do(func() { close(inside) })
		for {
			if _, err := tr.ReadAll(context.Background(), e.Path); err != nil {
				return err
			}
		}
	})
	wantErr(t, "walk", err, fs.ErrClosed)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
