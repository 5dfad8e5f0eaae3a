package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ProjectFile is the name of a project's file.
const ProjectFile = ".stet.toml"

// Limits of a project's file. To read a pattern takes memory, and to match it takes time at every call.
const (
	maxProject         = 16 << 10 // bytes
	maxProjectPatterns = 100      // of all its rules
)

// projectFile returns the nearest project's file, looking upwards from dir to the root of the checkout or the home directory; empty
// if there is none or dir is empty. Outside a checkout, other users may be able to write to a parent directory, so a file of
// another user does not count.
func (s *Source) projectFile(dir string) string {
	if dir == "" {
		return ""
	}
	for below := dir; ; {
		file := filepath.Join(below, ProjectFile)
		if info, err := os.Stat(file); err == nil {
			if sameOwner(info, dir) {
				return file
			}
			if s.Warn != nil {
				s.Warn("%s belongs to another user, and is ignored", file)
			}
		}
		_, err := os.Stat(filepath.Join(below, ".git"))
		up := filepath.Dir(below)
		if err == nil || up == below || below == s.Home {
			return ""
		}
		below = up
	}
}

// readProject reads a file from a checkout, which is not trusted. It must be a regular file of bounded size in its directory, after
// following links. The call never blocks, whatever kind of file it is.
func readProject(file string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.Base(file), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if link, linkErr := os.Readlink(file); linkErr == nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is a link to %q: this file must lie in the project itself", file, link)
		}
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxProject+1))
	if err == nil && len(b) > maxProject {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxProject)
	}
	return b, err
}

// checkPatterns checks the number of patterns in the rules of a project's file, before they are read.
func checkPatterns(rules any) error {
	n := 0
	rows, _ := rules.([]any)
	for _, row := range rows {
		members, _ := row.(map[string]any)
		for _, member := range members {
			list, _ := member.([]any)
			n += len(list)
		}
	}
	if n > maxProjectPatterns {
		return fmt.Errorf("%d patterns: the rules of a project have at most %d", n, maxProjectPatterns)
	}
	return nil
}
