//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Outside a checkout, a file of another user is ignored.
func TestProjectConfigOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	var said string
	s := &Source{Dir: filepath.Join(dir, "a"), Warn: func(format string, args ...any) { said += fmt.Sprintf(format, args...) }}
	file := filepath.Join(dir, ProjectFile)
	write(t, file, "policy = \"off\"\n")
	write(t, filepath.Join(s.Dir, "x"), "")
	if got := s.projectFile(s.Dir); got != file {
		t.Errorf("ours: %q", got)
	}
	if err := os.Chown(file, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := s.projectFile(s.Dir); got != "" || !strings.Contains(said, "belongs to another user") {
		t.Errorf("a stranger's: %q, %s", got, said)
	}
	if err := os.Chown(s.Dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := s.projectFile(s.Dir); got != file {
		t.Errorf("the checkout's owner's: %q", got)
	}
}

// FILE-7: a checkout's configuration file cannot make stet read without end, block, or read files elsewhere.
func TestHostileProjectConfig(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "token = s3cr3t\n")
	links := func(to string) func(string) error {
		return func(file string) error { return os.Symlink(to, file) }
	}
	for name, test := range map[string]struct {
		make func(file string) error
		says string
	}{
		"pipe":      {func(file string) error { return syscall.Mkfifo(file, 0o600) }, "not a regular file"},
		"directory": {func(file string) error { return os.Mkdir(file, 0o700) }, "not a regular file"},
		"endless":   {links("/dev/zero"), `a link to "/dev/zero"`},
		"elsewhere": {links(outside), "a link to"},
		"huge": {func(file string) error {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 1<<30)
		}, "larger than"},
		"many patterns": {func(file string) error {
			return os.WriteFile(file, []byte("[[rule]]\npaths = ["+strings.Repeat(`"a",`, 101)+"]\ndo = \"deny\"\n"), 0o600)
		}, "101 patterns"},
		"long patterns": {func(file string) error {
			return os.WriteFile(file, []byte("[[rule]]\npaths = [\""+strings.Repeat("{a,b}", 6)+strings.Repeat("x?", 1000)+"\"]\ndo = \"deny\"\n"), 0o600)
		}, "alternatives written out"},
		"good":    {func(file string) error { return os.WriteFile(file, []byte("policy = \"off\"\n"), 0o600) }, ""},
		"nowhere": {links("nothing"), ""},
		"linked": {func(file string) error {
			write(t, filepath.Join(filepath.Dir(file), "real.toml"), "policy = \"off\"\n")
			return os.Symlink("real.toml", file)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), ProjectFile)
			if err := test.make(file); err != nil {
				t.Fatal(err)
			}
			v, err := readFile(file, true)
			switch {
			case test.says == "":
				if err != nil || name != "nowhere" && v.values["policy"] != "off" {
					t.Errorf("%v, %v", v, err)
				}
			case err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "token"):
				t.Errorf("%v", err)
			}
		})
	}
}
