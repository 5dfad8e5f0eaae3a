package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/workspace"
)

// workspaceDir returns the directory of --root: an absolute path to an existing, readable directory.
func (p *program) workspaceDir(given string) (string, error) {
	if given == "" {
		return "", errors.New("--root: the name of the directory is empty; . is the working directory")
	}
	dir := p.absolute(given)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("--root: there is no directory %s", workspace.Quote(dir))
	case err != nil:
		return "", fmt.Errorf("--root: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("--root: %s is not a directory", workspace.Quote(dir))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("--root: %w", err)
	}
	if !utf8.ValidString(real) {
		return "", fmt.Errorf("--root: the name %s is not UTF-8: the audit trail, and so undo, could not name it", workspace.Quote(real))
	}
	opened, err := os.Open(real)
	if err != nil {
		return "", fmt.Errorf("--root: %w", err)
	}
	return real, opened.Close()
}

// mayServe returns an error if agents must not get the real path dir: the root of a file system, or a home directory, or one that
// has homes in it, if the person did not name it. If it was named, the person is warned.
func (p *program) mayServe(dir string, named bool) error {
	if filepath.Dir(dir) == dir {
		return fmt.Errorf("--root: %s is the root of a file system, which no agent gets: name the directory of a project", dir)
	}
	switch what := p.homeAt(dir); {
	case what == "":
	case !named:
		return fmt.Errorf("--root: %s is %s, and an agent would get all that is in it: name the directory of a project by --root (or this one, if you mean it)", workspace.Quote(dir), what)
	default:
		p.say("warning: %s is %s: the agent gets all that is in it; better name the directory of a project", workspace.Quote(dir), what)
	}
	return nil
}

// servedDir returns the directory of --root, if agents may get it.
func (c *command) servedDir(given string) (string, error) {
	dir, err := c.workspaceDir(given)
	if err == nil {
		err = c.mayServe(dir, c.cmd.Flags().Changed("root"))
	}
	if err != nil {
		return "", c.usage(err)
	}
	return dir, nil
}

// homeAt says what kind of home directory a real path is; "" if none.
func (p *program) homeAt(dir string) string {
	const home, homes = "a home directory", "a directory of home directories"
	names := strings.FieldsFunc(strings.ToLower(strings.TrimPrefix(dir, filepath.VolumeName(dir))), func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) })
	if len(names) > 1 && (names[0] == "var" || names[0] == "export") { // /var/root, /var/home, /export/home
		names = names[1:]
	}
	if len(names) == 0 {
		return "" // the root of a file system
	}
	switch first := names[0]; {
	case len(names) == 1 && first == "root":
		return home
	case first != "home" && first != "users":
	case len(names) == 1:
		return homes
	case len(names) == 2:
		return home
	}
	own, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	mine := []string{p.home()}
	if u, err := user.Current(); err == nil {
		mine = append(mine, u.HomeDir)
	}
	all := slices.Concat(mine, accountHomes())
	for i, h := range all {
		real, err := filepath.EvalSymlinks(h)
		if h == "" || err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil && os.SameFile(info, own) {
			return home
		}
		if rel, err := filepath.Rel(dir, real); i >= len(mine) && err == nil && filepath.IsLocal(rel) {
			return homes
		}
	}
	return ""
}

// accountHomes returns the home directories of the accounts of this machine with which one can log in, where a file lists them.
func accountHomes() []string {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return nil
	}
	defer f.Close()
	var homes []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 || !filepath.IsAbs(fields[5]) || filepath.Clean(fields[5]) == "/" {
			continue
		}
		if shell := filepath.Base(fields[6]); shell != "nologin" && shell != "false" {
			homes = append(homes, fields[5])
		}
	}
	return homes
}
