package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk opens the files in paths, one after the other, and calls fn with the sessions of each. For a directory it opens the
// files in it and in all its subdirectories. If err is ErrFormat or ErrEmpty (wrapped), the file was skipped, and err has
// the reason. Any other err is a failure to read this file. For a database or directory with several sessions, fn is called
// more than once. Walk ends with the first error that fn returns, and returns it.
//
// In directories, some files are skipped without a call of fn: files whose names are not those of session files (Likely),
// and files without an extension in an unknown format. A file that is in several of the paths is opened once.
func (o Opener) Walk(paths []string, fn func(path string, sessions []*Session, err error) error) error {
	w := walk{Opener: o, several: len(paths) > 1, seen: map[string]bool{}}
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case err != nil:
			err = fn(root, nil, fmt.Errorf("read session: %w", err))
		case info.IsDir():
			err = w.dir(root, fn)
		default:
			err = w.file(root, false, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walk is the state of a Walk.
type walk struct {
	Opener
	several bool            // there are several paths
	seen    map[string]bool // if several: the visited files and directories, by their paths without links
}

func (w *walk) dir(root string, fn func(string, []*Session, error) error) error {
	if info, err := os.Lstat(root); err == nil && !info.IsDir() { // WalkDir does not follow a link
		if target, err := filepath.EvalSymlinks(root); err == nil {
			root = target
		}
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fn(path, nil, fmt.Errorf("read session: %w", err))
		case d.IsDir() && isOpencodeStore(path):
			if err := w.file(path, true, fn); err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			if path != root && (d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		case !Likely(d.Name()):
			return nil
		case !d.Type().IsRegular():
			return fn(path, nil, fmt.Errorf("read session %s: %w: not a regular file", path, ErrFormat))
		case filepath.Ext(path) != "":
			return w.file(path, false, fn)
		}
		return w.file(path, false, func(path string, sessions []*Session, err error) error {
			if errors.Is(err, ErrFormat) {
				return nil // for example a licence or a makefile
			}
			return fn(path, sessions, err)
		})
	})
}

// again reports whether a file was visited before.
func (w *walk) again(path string) bool {
	if !w.several {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	defer func() { w.seen[path] = true }()
	return w.seen[path]
}

// file calls fn with the sessions of one file or directory. It returns an error of fn. It passes an error of the file to
// fn.
func (w *walk) file(path string, dir bool, fn func(string, []*Session, error) error) error {
	if w.again(path) {
		return nil
	}
	var stop error
	err := w.each(path, dir, func(sessions []*Session, err error) error {
		file := path
		if len(sessions) > 0 {
			file = sessions[0].File
		}
		stop = fn(file, sessions, err)
		return stop
	})
	if stop != nil || err == nil {
		return stop
	}
	return fn(path, nil, err)
}

// Likely reports whether a file in a directory may hold sessions, by its name without the directory. Hidden files and files
// with other extensions do not.
func Likely(name string) bool {
	if compressed(name) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonl", ".traj", ".ndjson", ".db", "":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// Skipped reports whether an error that Walk passed to fn means that the file holds no session.
func Skipped(err error) bool { return errors.Is(err, ErrFormat) || errors.Is(err, ErrEmpty) }
