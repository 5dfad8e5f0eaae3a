package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/repeats"
)

// tokensFile is the file of the tokens in the state directory, of mode 0600.
const tokensFile = "tokens.json"

func (p *program) readTokens() (*gateway.Tokens, error) {
	state, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	return readTokens(filepath.Join(state, tokensFile))
}

// readTokens reads a file of tokens. One that is not there has none; one that
// others may write to counts for nothing.
func readTokens(file string) (*gateway.Tokens, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &gateway.Tokens{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("tokens: others may write to %s: take that from them (chmod 600)", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return gateway.ParseTokens(b)
}

// changeTokens changes the file of the tokens, one process after the other.
func (p *program) changeTokens(change func(*gateway.Tokens) error) error {
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return stateTrouble(err)
	}
	file := filepath.Join(state, tokensFile)
	lock := flock.New(file+"-lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return stateTrouble(err)
	}
	defer lock.Close()
	t, err := readTokens(file)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return err
	}
	t.Sweep(listedFor, time.Now())
	b, err := t.Encode()
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	if err := replace(file, b); err != nil {
		return fmt.Errorf("the tokens are not changed: %w", stateTrouble(err))
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

// pagesFile is the file of what the keys of logins to the UI are made of, of mode
// 0600. Whoever deletes it ends all logins.
const pagesFile = "web-secret"

// pagesSecret reads that file, and makes it where there is none. The caller has the
// lock of the state directory.
func pagesSecret(state string) ([]byte, error) {
	file := filepath.Join(state, pagesFile)
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		b = make([]byte, 32)
		_, _ = rand.Read(b) // it never fails
		err = replace(file, b)
	}
	switch {
	case err != nil:
		return nil, stateTrouble(err)
	case len(b) != 32:
		return nil, fmt.Errorf("logins: %s is damaged: delete it, and log in again", file)
	}
	return b, nil
}

// keyring is the gateway.Authority of a server: the tokens of the file, and those
// that were made for this one process.
type keyring struct {
	file string
	log  *slog.Logger

	mu   sync.Mutex
	own  gateway.Tokens
	kept *gateway.Tokens
	of   fs.FileInfo // of the file when kept was read; nil: there was none

	trouble repeats.Filter // of the file that cannot be read
}

// tokens are those of the file as it is now: a change counts at once. If it
// cannot be read, none count.
func (k *keyring) tokens() *gateway.Tokens {
	now, err := os.Stat(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err == nil && k.kept != nil && sameState(now, k.of) {
		return k.kept
	}
	var t *gateway.Tokens
	if err == nil {
		t, err = readTokens(k.file)
	}
	if err != nil {
		if left, ok := k.trouble.Say(err.Error()); ok {
			k.log.Error("tokens", "err", err, "repeated", left)
		}
		return &gateway.Tokens{} // the next one tries again
	}
	k.kept, k.of = t, now
	k.trouble.Over()
	return k.kept
}

// sameState reports whether a file is as it was. Changes of ours replace it, and
// those by hand show in its time or its size; nil is a file that is not there.
func sameState(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// Identify implements gateway.Authority.
func (k *keyring) Identify(token string) (gateway.Identity, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	who, err := k.own.Identify(token, time.Now())
	if errors.Is(err, gateway.ErrToken) {
		who, err = k.tokens().Identify(token, time.Now())
	}
	return who, err
}

// Holds implements gateway.Authority.
func (k *keyring) Holds(who gateway.Identity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.own.Holds(who.ID, time.Now()) || k.tokens().Holds(who.ID, time.Now())
}

// person is the name of the person whose token has this ID, if it is good.
func (k *keyring) person(id string) (name string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, table := range []*gateway.Tokens{&k.own, k.tokens()} {
		for _, t := range table.Tokens {
			if t.ID == id && slices.Contains(t.Scopes, gateway.Persons) && table.Holds(id, time.Now()) {
				return t.Name, true
			}
		}
	}
	return "", false
}

// make makes a token for this process.
func (k *keyring) make(name, scope, secret string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, token, err := k.own.Create(gateway.NewToken{Name: name, Scopes: []string{scope}, Secret: secret}, time.Now())
	return token, err
}

// may reports whether a token is for a role.
func (k *keyring) may(token, role string) (gateway.Identity, bool) {
	who, err := k.Identify(token)
	return who, err == nil && who.May(role)
}

// lets reports whether a token is an agent's, and for a workspace.
func (k *keyring) lets(token, workspace string) bool {
	who, ok := k.may(token, gateway.Agents)
	return ok && (who.Workspace == "" || who.Workspace == workspace)
}
