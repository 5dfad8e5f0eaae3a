package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk opens the files in paths, and in the directories among them with all
// their subdirectories, one after the other, and calls fn with the sessions of
// each. A file whose err is ErrFormat or ErrEmpty (wrapped) was skipped, for
// the reason that err gives; any other err is trouble with that file. A store
// with several sessions calls fn more than once with its path. Walk ends with
// the first error that fn returns, and returns it.
//
// In directories files that look like none are passed over in silence: those
// whose names tell (Likely), and those without an ending that hold something
// else. A file that is in several of the paths is opened once.
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

// walk is one Walk on its way.
type walk struct {
	Opener
	several bool            // paths
	seen    map[string]bool // if several: files and stores, by their paths without links
}

func (w *walk) dir(root string, fn func(string, []*Session, error) error) error {
	if info, err := os.Lstat(root); err == nil && !info.IsDir() { // a link, which WalkDir does not follow
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
				return nil // a licence, a makefile
			}
			return fn(path, sessions, err)
		})
	})
}

// again reports whether a file was met before.
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

// file calls fn with what is in one file or store. An error of fn's goes
// through; an error of the file's goes to fn.
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

// Likely reports whether a file in a directory may hold sessions, as far as its
// name (without the directory) tells. Hidden files and parts of others do not.
func Likely(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonl", ".traj", ".ndjson", ".db", "":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// Skipped reports whether err, as Walk gives it, says that a file was passed
// over because it holds no session.
func Skipped(err error) bool { return errors.Is(err, ErrFormat) || errors.Is(err, ErrEmpty) }
