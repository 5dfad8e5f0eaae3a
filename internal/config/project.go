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

// maxProject is how many bytes a project's file may have.
const maxProject = 1 << 20

// projectFile returns the nearest project's file, looking upwards from dir as far
// as the checkout or the home directory goes; empty when there is none. Where
// there is no checkout all users may be able to write to a directory above, so a
// file of another user does not count. Without dir there is none.
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

// readProject reads a file that came with a checkout, and so is not trusted. It
// has to be a regular file of bounded size in its directory, links followed.
// The call never blocks, whatever the file turns out to be.
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
