package proxyserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/server/connect"
)

// authorityFile is the name of the file with the authority's certificate and key, in the state directory.
const authorityFile = "authority.pem"

// OpenAuthority returns the authority of this user, whose file is in the directory state. If there is none that fits, it makes one. Only
// the owner can read the file.
func OpenAuthority(state string) (*connect.Authority, error) {
	fail := func(err error) (*connect.Authority, error) {
		return nil, fmt.Errorf("authority for the forward proxy: %w", err)
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fail(err)
	}
	file := filepath.Join(state, authorityFile)
	lock := flock.New(file + "-lock") // two runs that begin at once must not make two authorities
	if err := lock.Lock(); err != nil {
		return fail(err)
	}
	defer func() { _ = lock.Close() }()
	text, err := os.ReadFile(file)
	if err == nil {
		if a, err := connect.ParseAuthority(text); err == nil && a.Fits(hostNames()) {
			return a, os.Chmod(file, 0o600)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if text, err = connect.NewAuthority(hostNames()); err != nil {
		return fail(err)
	}
	if err := replacePrivate(file, text); err != nil {
		return fail(err)
	}
	a, err := connect.ParseAuthority(text)
	if err != nil {
		return fail(err)
	}
	return a, nil
}

// RemoveAuthority removes the authority of this user, and returns the removed files. There may be none.
func RemoveAuthority(state string, dry bool) (removed []string, err error) {
	for _, name := range []string{authorityFile, authorityFile + "-lock"} {
		file := filepath.Join(state, name)
		if _, missing := os.Lstat(file); missing != nil {
			continue
		}
		if !dry {
			err = errors.Join(err, os.Remove(file))
		}
		removed = append(removed, file)
	}
	return removed, err
}

// replacePrivate writes a file that only its owner can read, whole or not at all.
func replacePrivate(file string, text []byte) error {
	t, err := os.CreateTemp(filepath.Dir(file), authorityFile+"-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = t.Write(text)
	if err = errors.Join(err, t.Sync(), t.Close()); err == nil {
		err = os.Rename(t.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}
