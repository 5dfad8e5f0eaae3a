// Package tokenfile keeps the gateway's tokens in a file of the state directory,
// and says which tokens a server takes.
package tokenfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/config"
)

// fileName is the file of the tokens in the state directory, of mode 0600.
const fileName = "tokens.json"

// ListedFor is how long tokens are kept that are of no use any more.
const ListedFor = 30 * 24 * time.Hour

// Read reads the tokens of a state directory.
func Read(state string) (*gateway.Tokens, error) { return readFile(filepath.Join(state, fileName)) }

// readFile reads a file of tokens. A missing file has none; one that other users may
// write to is an error.
func readFile(file string) (*gateway.Tokens, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &gateway.Tokens{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("tokens: other users may write to %s: run chmod 600 on it", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return gateway.ParseTokens(b)
}

// Change changes the tokens of a state directory, one process after the other.
func Change(state string, change func(*gateway.Tokens) error) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return config.StateError(err)
	}
	file := filepath.Join(state, fileName)
	lock := flock.New(file+"-lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return config.StateError(err)
	}
	defer lock.Close()
	t, err := readFile(file)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return err
	}
	t.Sweep(ListedFor, time.Now())
	b, err := t.Encode()
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	if err := replace(file, b); err != nil {
		return fmt.Errorf("the tokens are not changed: %w", config.StateError(err))
	}
	return nil
}

// replace puts a file of mode 0600 in place of another, whole or not at all.
func replace(file string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it may be renamed already
		}
	}()
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// loginFile is the file of the secret that the keys of logins to the UI are made of,
// of mode 0600. Deleting it ends all logins.
const loginFile = "web-secret"

// LoginSecret reads that file, and makes it where there is none. The caller has the
// lock of the state directory.
func LoginSecret(state string) ([]byte, error) {
	file := filepath.Join(state, loginFile)
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		b = make([]byte, 32)
		_, _ = rand.Read(b) // it never fails
		err = replace(file, b)
	}
	switch {
	case err != nil:
		return nil, config.StateError(err)
	case len(b) != 32:
		return nil, fmt.Errorf("logins: %s is damaged: delete it, and log in again", file)
	}
	return b, nil
}
