package tokenfile

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/repeats"
)

// Keyring is the gateway.Authority of a server: the tokens of the file, and those
// that were made for this one process.
type Keyring struct {
	file string
	log  *slog.Logger

	mu       sync.Mutex
	own      gateway.Tokens
	read     *gateway.Tokens // of the file, when it was read last
	readFrom fs.FileInfo     // the file as it was then; nil: there was none

	certified map[[sha256.Size]byte]certified // by the hash of the certificate

	trouble repeats.Filter // of the file that cannot be read
}

// NewKeyring returns the keyring of a state directory.
func NewKeyring(state string, log *slog.Logger) *Keyring {
	return &Keyring{file: filepath.Join(state, fileName), log: log}
}

// tokens are those of the file as it is now: a change counts at once. If it
// cannot be read, none count.
func (k *Keyring) tokens() *gateway.Tokens {
	now, err := os.Stat(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err == nil && k.read != nil && sameState(now, k.readFrom) {
		return k.read
	}
	var t *gateway.Tokens
	if err == nil {
		t, err = readFile(k.file)
	}
	if err != nil {
		if left, ok := k.trouble.Say(err.Error()); ok {
			k.log.Error("tokens", "err", err, "repeated", left)
		}
		return &gateway.Tokens{} // the next one tries again
	}
	k.read, k.readFrom = t, now
	k.trouble.Over()
	return k.read
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
func (k *Keyring) Identify(token string) (gateway.Identity, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	who, err := k.own.Identify(token, time.Now())
	if errors.Is(err, gateway.ErrToken) {
		who, err = k.tokens().Identify(token, time.Now())
	}
	return who, err
}

// Holds implements gateway.Authority.
func (k *Keyring) Holds(who gateway.Identity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.own.Holds(who.ID, time.Now()) || k.tokens().Holds(who.ID, time.Now())
}

// Person is the name of the person whose token has this ID, if it is good.
func (k *Keyring) Person(id string) (name string, ok bool) {
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

// Make makes a token for this process.
func (k *Keyring) Make(name, scope, secret string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, token, err := k.own.Create(gateway.NewToken{Name: name, Scopes: []string{scope}, Secret: secret}, time.Now())
	return token, err
}

// May reports whether a token is for a role.
func (k *Keyring) May(token, role string) (gateway.Identity, bool) {
	who, err := k.Identify(token)
	return who, err == nil && who.May(role)
}

// Lets reports whether a token is an agent's, and for a workspace.
func (k *Keyring) Lets(token, workspace string) bool {
	who, ok := k.May(token, gateway.Agents)
	return ok && (who.Workspace == "" || who.Workspace == workspace)
}
