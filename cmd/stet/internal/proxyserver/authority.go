package proxyserver

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/server/connect"
)

// authorityFile is the name of the file with the authority's certificate and key, in the state directory.
const authorityFile = "authority.pem"

// OpenAuthority returns the authority of this user, whose file is in the directory state. If there is none that fits, it makes one. Only
// the owner can read the file. If others could, they may know the key, so the new authority has another one.
func OpenAuthority(state string) (a *connect.Authority, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("authority for the forward proxy: %w", err)
		}
	}()
	file := filepath.Join(state, authorityFile)
	if last, err := readAuthority(file); err != nil || last != nil && last.Fits(hostNames()) {
		return last, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(file + "-lock") // two runs that begin at once must not make two authorities
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	last, err := readAuthority(file)
	if err != nil || last != nil && last.Fits(hostNames()) {
		return last, err
	}
	if a, err = connect.NewAuthority(hostNames(), last); err != nil {
		return nil, err
	}
	return a, atomicfile.Write(file, a.Text(), 0o600, true)
}

// readAuthority returns the authority in a file; nil: there is none, or it is damaged, or others than its owner can read it.
func readAuthority(file string) (*connect.Authority, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, nil
	}
	a, _ := connect.ParseAuthority(text) // a damaged file is replaced
	return a, nil
}

// TrustFile writes the authority's certificate, after certificates that a person has, into a file in the directory state, and returns its
// name. It stays there. Without a name its name goes by its content.
func TrustFile(state, name string, a *connect.Authority, own []byte) (string, error) {
	text := a.Certificate()
	switch {
	case bytes.Contains(own, text):
		text = own
	case len(own) > 0:
		text = slices.Concat(bytes.TrimRight(own, "\n"), []byte("\n"), text)
	}
	if name == "" {
		name = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	file := TrustName(state, name)
	if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, text) {
		return file, nil
	}
	return file, atomicfile.Write(file, text, 0o600, true)
}

// TrustName returns the name of the file that TrustFile writes.
func TrustName(state, name string) string { return filepath.Join(state, "authority-"+name+".crt") }

// RemoveAuthority removes the authority of this user, and returns the removed files. There may be none.
func RemoveAuthority(state string, dry bool) (removed []string, err error) {
	entries, _ := os.ReadDir(state) // there may be no such directory
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "authority") {
			continue
		}
		file := filepath.Join(state, e.Name())
		if !dry {
			err = errors.Join(err, os.Remove(file))
		}
		removed = append(removed, file)
	}
	return removed, err
}
