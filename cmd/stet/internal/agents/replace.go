package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile replaces a file's text atomically, and keeps the old text in a copy next to it. A link stays a link. It returns the
// name of the copy.
func replaceFile(file string, old, now []byte, existed, private bool) (kept string, err error) {
	mode := fs.FileMode(0o644)
	if existed {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		mode = info.Mode().Perm()
		if kept, err = backUp(file, old, mode); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	if private {
		mode &= 0o700
	}
	return kept, writeFile(file, now, mode)
}

// writeFile writes a file atomically.
func writeFile(file string, text []byte, mode fs.FileMode) error {
	t, err := os.CreateTemp(filepath.Dir(file), ".stet-setup-*")
	if err != nil {
		return err
	}
	_, err = t.Write(text)
	err = cmp.Or(err, t.Chmod(mode), t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}

// backUp writes the old text to the first free name.
func backUp(file string, old []byte, mode fs.FileMode) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.stet-backup-%d", file, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(old)
		return name, errors.Join(err, f.Close())
	}
}
