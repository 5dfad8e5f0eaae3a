package tokenfile

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
)

// Keyring is the gateway.Authority of a server. It has the tokens of the file, and those made for this process only.
type Keyring struct {
	file string
	log  *slog.Logger

	mu       sync.Mutex
	own      gateway.Tokens
	read     *gateway.Tokens // of the file, as read last
	readFrom fs.FileInfo     // the file at that time; nil: there was none

	certified map[[sha256.Size]byte]certified // by the hash of the certificate

	trouble limits.Repeats // filters messages about an unreadable file
}

// NewKeyring returns the keyring of a state directory.
func NewKeyring(state string, log *slog.Logger) *Keyring {
	return &Keyring{file: filepath.Join(state, fileName), log: log}
}

// tokens returns the tokens of the current file, so a change counts at once. If the file cannot be read, there are none.
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
		return &gateway.Tokens{} // the next call tries again
	}
	k.read, k.readFrom = t, now
	k.trouble.Over()
	return k.read
}

// sameState reports whether a file is unchanged. Our changes replace the file, and manual changes show in its time or size; nil
// means no file.
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

// Person returns the person with the token of this ID, if it is valid.
func (k *Keyring) Person(id string) (who gateway.Identity, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, table := range []*gateway.Tokens{&k.own, k.tokens()} {
		for _, t := range table.Tokens {
			if who = t.Identity(); t.ID == id && who.May(gateway.Approvers) && table.Holds(id, time.Now()) {
				return who, true
			}
		}
	}
	return gateway.Identity{}, false
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

// Lets returns the identity of a token, if it is an agent's token for a workspace. Otherwise the error says why, and what to do.
func (k *Keyring) Lets(token, workspace string) (gateway.Identity, error) {
	if token == "" {
		return gateway.Identity{}, errors.New("an agent's token for this workspace is needed: send it as \"Authorization: Bearer TOKEN\"")
	}
	who, err := k.Identify(token)
	if err != nil {
		return gateway.Identity{}, err
	}
	if why := who.Refusal(gateway.Agents, workspace); why != "" {
		return gateway.Identity{}, &Forbidden{Why: why}
	}
	return who, nil
}

// Allow is Lets for callers that only need the token's ID.
func (k *Keyring) Allow(workspace string) func(token string) (id string, ok bool) {
	return func(token string) (string, bool) {
		who, err := k.Lets(token, workspace)
		return who.ID, err == nil
	}
}

// Forbidden is the error for a valid token without the needed right.
type Forbidden struct{ Why string }

func (f *Forbidden) Error() string { return f.Why }
