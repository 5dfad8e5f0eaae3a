// Package tokenfile stores the gateway's tokens in a file of the state directory, and decides which tokens a server accepts. It also has the files
// of secrets that are made once.
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

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/server/gateway"
)

// fileName is the file of the tokens in the state directory, with mode 0600.
const fileName = "tokens.json"

// ListedFor is how long invalid tokens are kept in the list.
const ListedFor = 30 * 24 * time.Hour

// Read reads the tokens of a state directory.
func Read(state string) (*gateway.Tokens, error) { return readFile(filepath.Join(state, fileName)) }

// readFile reads a file of tokens. A missing file has no tokens. If other users may write to the file, it returns an error.
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

// Change changes the tokens of a state directory, by one process at a time.
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
	if err := atomicfile.Write(file, b, 0o600, true); err != nil {
		return fmt.Errorf("the tokens are not changed: %w", config.StateError(err))
	}
	return nil
}

const (
	loginFile   = "web-secret"  // the secret for the keys of UI logins. Deleting it ends all logins
	holdoutFile = "holdout-key" // the key by which conversations of the holdout are chosen. With another key others would be chosen
)

// HoldoutKey reads the key of the holdout, and makes it if there is none.
func HoldoutKey(state string) ([]byte, error) {
	return key(state, holdoutFile, "holdout", "the holdout begins anew")
}

// LoginSecret reads that file, and makes it if there is none.
func LoginSecret(state string) ([]byte, error) {
	return key(state, loginFile, "logins", "log in again")
}

// key reads a file of 32 random bytes, and makes it if there is none. what and then are for the error about a damaged file.
func key(state, name, what, then string) ([]byte, error) {
	file := filepath.Join(state, name)
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // Read does not fail
	switch b, err := Once(file, fresh); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, config.StateError(err))
	case len(b) != len(fresh):
		return nil, fmt.Errorf("%s: %s is damaged: delete it, and %s", what, file, then)
	default:
		return b, nil
	}
}

// Once reads the file of a secret. If there is none, it is made with this content and mode 0600, and its directory with mode 0700. No process sees it
// unfinished, and all get the same content.
func Once(file string, fresh []byte) ([]byte, error) {
	b, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	made := file + "-" + rand.Text()
	if err := atomicfile.Write(made, fresh, 0o600, true); err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(made) }() // after a rename it is not there
	if err := os.Link(made, file); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(made, file); err != nil { // a file system without links
			return nil, err
		}
	}
	return os.ReadFile(file)
}
