package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
)

// FILE-13: the root of a file system is served to no agent, and a home directory only if the person names it.
func TestServedDir(t *testing.T) {
	home := t.TempDir()
	project, link := filepath.Join(home, "project"), filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	rootLink := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink("/", rootLink); err != nil {
		t.Fatal(err)
	}
	const never, named, free = 0, 1, 2
	kinds := map[string]int{"/": never, rootLink: never, home: named, link: named, project: free, filepath.Dir(home): free, link + "/project": free}
	if runtime.GOOS == "linux" {
		kinds["/root"], kinds["/home"] = named, named
	}
	for dir, kind := range kinds {
		if d, err := os.Open(dir); err != nil {
			continue // another user's
		} else {
			d.Close()
		}
		for _, isNamed := range []bool{false, true} {
			var said bytes.Buffer
			p := &program{err: &said, env: []string{"HOME=" + home}, dir: dir}
			given := "."
			if isNamed {
				given = dir
			}
			real, err := p.workspaceDir(given)
			if err == nil {
				err = p.mayServe(real, isNamed)
			}
			if ok := kind == free || kind == named && isNamed; (err == nil) != ok {
				t.Errorf("%s, named %v: %v", dir, isNamed, err)
			}
			if warned := strings.Contains(said.String(), "warning: "); warned != (kind == named && isNamed) {
				t.Errorf("%s, named %v: said %q", dir, isNamed, said.String())
			}
		}
	}
	p := &program{env: []string{"HOME=" + home}}
	for dir, want := range map[string]string{
		"/home/x": "a home directory", "/Users/x": "a home directory", "/Users": "a directory of home directories", "/var/root": "a home directory",
		"/export/home/x": "a home directory", "/home/x/project": "", "/srv/none": "", "/var/none": "",
	} {
		if runtime.GOOS != "windows" && p.homeAt(dir) != want {
			t.Errorf("%s: %q, want %q", dir, p.homeAt(dir), want)
		}
	}
	if _, err := workspace.Open(rootLink, workspace.Options{State: t.TempDir()}); err == nil {
		t.Error("the library opens the root of the file system")
	}
}

// The root of a file system is no home directory. Doctor runs there with a rule of the person's own.
func TestDoctorInRoot(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".config", "stet", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[[rule]]\npaths = [\"secrets\"]\ndo = \"deny\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &program{env: []string{"HOME=" + home, "STET_UPSTREAM=http://127.0.0.1:9", "PATH="}, dir: "/", out: &out, err: &out}
	if what := p.homeAt("/"); what != "" {
		t.Errorf("it is %s", what)
	}
	if p.run(t.Context(), []string{"doctor"}); !strings.Contains(out.String(), "configuration") {
		t.Errorf("%s", &out)
	}
}
