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
func Walk(paths []string, fn func(path string, sessions []*Session, err error) error) error {
	return Opener{}.Walk(paths, fn)
}

// Walk is the function Walk, with the databases that o can open.
func (o Opener) Walk(paths []string, fn func(path string, sessions []*Session, err error) error) error {
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case err != nil:
			err = fn(root, nil, fmt.Errorf("read session: %w", err))
		case info.IsDir():
			err = o.walkDir(root, fn)
		default:
			err = o.walkFile(root, false, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o Opener) walkDir(root string, fn func(string, []*Session, error) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fn(path, nil, fmt.Errorf("read session: %w", err))
		case d.IsDir() && isOpencodeStore(path):
			if err := o.walkFile(path, true, fn); err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			if path != root && (d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return fn(path, nil, fmt.Errorf("read session %s: %w: not a regular file", path, ErrFormat))
		}
		if why := notASession(d.Name()); why != "" {
			return fn(path, nil, fmt.Errorf("read session %s: %w: %s", path, ErrFormat, why))
		}
		return o.walkFile(path, false, fn)
	})
}

// walkFile calls fn with what is in one file or store. An error of fn's goes
// through; an error of the file's goes to fn.
func (o Opener) walkFile(path string, dir bool, fn func(string, []*Session, error) error) error {
	var stop error
	err := o.each(path, dir, func(sessions []*Session, err error) error {
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

// notASession says why a file's name tells that it holds no session, or "".
func notASession(name string) string {
	lower := strings.ToLower(name)
	switch ext := filepath.Ext(lower); {
	case strings.HasPrefix(name, "."):
		return "a hidden file"
	case strings.HasSuffix(lower, "-wal"), strings.HasSuffix(lower, "-shm"), ext == ".lock", ext == ".tmp":
		return "a part of another file"
	case ext == ".json", ext == ".jsonl", ext == ".traj", ext == ".ndjson", ext == "", ext == ".db":
		return ""
	default:
		return fmt.Sprintf("%s files hold no sessions", ext)
	}
}

// Skipped reports whether err, as Walk gives it, says that a file was passed
// over because it holds no session.
func Skipped(err error) bool { return errors.Is(err, ErrFormat) || errors.Is(err, ErrEmpty) }
