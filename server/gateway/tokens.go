package gateway

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Tokens and what they are for: the stored records, the identity that one gives, and its roles.

// Token is the stored record of a token. It has the hash, not the token itself, which is random and long.
type Token struct {
	ID        string    `json:"id"` // public name of the token
	Name      string    `json:"name"`
	Hash      string    `json:"hash"` // SHA-256 of the token, in hex
	Scopes    []string  `json:"scopes"`
	Workspace string    `json:"workspace,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"`
	Revoked   time.Time `json:"revoked,omitzero"`
}

// Tokens is a table of tokens. Its zero value is empty. It must not be changed while it is in use.
type Tokens struct {
	Version int     `json:"version"` // 1
	Tokens  []Token `json:"tokens"`
}

// Why a known token is not valid.
var (
	errExpired = errors.New("the token has expired")
	errRevoked = errors.New("the token was revoked")
)

// secretPrefix begins every token, so that people and secret scanners recognise it.
const secretPrefix = "stet_"

// leastSecret is the minimum length of a token that a person chose.
const leastSecret = 16

// NewToken describes a token to make.
type NewToken struct {
	Name      string
	Scopes    []string // Agents, Hosts, Approvers, Admins
	Workspace string
	Expires   time.Time
	Secret    string // "": a random one
	ID        string // "": a random one
}

// Create adds a token, and returns it with its secret. The secret is not stored.
func (t *Tokens) Create(n NewToken, now time.Time) (Token, string, error) {
	if n.Name == "" || len(n.Name) > 64 || strings.ContainsFunc(n.Name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return Token{}, "", errors.New("a token has a name of up to 64 characters: it says in the audit trail who it was")
	}
	if len(n.Scopes) == 0 {
		return Token{}, "", fmt.Errorf("a token has a scope, or several: %s", strings.Join(scopes, ", "))
	}
	for _, s := range n.Scopes {
		if !slices.Contains(scopes, s) {
			return Token{}, "", fmt.Errorf("there is no scope %q: there are %s", s, strings.Join(scopes, ", "))
		}
	}
	if n.Workspace != "" && !isName(n.Workspace) {
		return Token{}, "", fmt.Errorf("workspace %q: a workspace is named by letters, digits, dots, - and _", n.Workspace)
	}
	if n.Workspace != "" && slices.ContainsFunc(n.Scopes, func(s string) bool { return s != Agents && s != Hosts }) {
		return Token{}, "", errors.New("a person decides about all workspaces: a token for one of them is an agent's or a host's")
	}
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		return Token{}, "", errors.New("the token would have expired already")
	}
	secret := n.Secret
	if secret == "" {
		secret = secretPrefix + strings.ToLower(rand.Text())
	}
	if len(secret) < leastSecret {
		return Token{}, "", fmt.Errorf("a token has %d characters or more", leastSecret)
	}
	made := Token{
		ID: cmp.Or(n.ID, newID()[:8]), Name: n.Name, Hash: hashOf(secret), Scopes: n.Scopes, Workspace: n.Workspace,
		Created: now.UTC().Truncate(time.Second), Expires: n.Expires.UTC(),
	}
	t.Tokens = append(t.Tokens, made)
	return made, secret, nil
}

// Revoke ends a token, named by its id or its name, and returns it.
func (t *Tokens) Revoke(name string, now time.Time) (Token, error) {
	i, err := t.find(name)
	if err != nil {
		return Token{}, err
	}
	if t.Tokens[i].Revoked.IsZero() {
		t.Tokens[i].Revoked = now.UTC().Truncate(time.Second)
	}
	return t.Tokens[i], nil
}

// find returns the index of the token with that id, or with that name if only one unrevoked token has the name.
func (t *Tokens) find(name string) (int, error) {
	found := -1
	for i, k := range t.Tokens {
		switch {
		case k.ID == name:
			return i, nil
		case k.Name == name && k.Revoked.IsZero():
			if found >= 0 {
				return 0, fmt.Errorf("several tokens are called %q: name one by its id", name)
			}
			found = i
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("there is no token %q: \"stet token list\" lists the tokens", name)
	}
	return found, nil
}

// Sweep removes tokens that expired or were revoked more than after ago.
func (t *Tokens) Sweep(after time.Duration, now time.Time) {
	t.Tokens = slices.DeleteFunc(t.Tokens, func(k Token) bool {
		end := k.Revoked
		if end.IsZero() {
			end = k.Expires
		}
		return !end.IsZero() && now.Sub(end) > after
	})
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// check returns why a token is not valid, or nil.
func (k Token) check(now time.Time) error {
	switch {
	case !k.Revoked.IsZero():
		return errRevoked
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return errExpired
	}
	return nil
}

// Identify returns the identity of a secret. It compares all tokens in constant time, so the time reveals nothing about any token.
func (t *Tokens) Identify(secret string, now time.Time) (Identity, error) {
	hash, found := []byte(hashOf(secret)), -1
	for i, k := range t.Tokens {
		if subtle.ConstantTimeCompare([]byte(k.Hash), hash) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Identity{}, ErrToken
	}
	k := t.Tokens[found]
	return k.Identity(), k.check(now)
}

// Identity returns the identity of the token, valid or not.
func (k Token) Identity() Identity {
	return Identity{
		ID: k.ID, Name: k.Name, Scopes: k.Scopes, Workspace: k.Workspace, Created: k.Created, Expires: k.Expires,
	}
}

// Holds reports whether the token with that id is valid.
func (t *Tokens) Holds(id string, now time.Time) bool {
	return slices.ContainsFunc(t.Tokens, func(k Token) bool { return k.ID == id && k.check(now) == nil })
}

// ParseTokens reads what Encode wrote.
func ParseTokens(b []byte) (*Tokens, error) {
	t := &Tokens{}
	if len(b) == 0 {
		return t, nil
	}
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if t.Version != 1 {
		return nil, fmt.Errorf("tokens: version %d is not known", t.Version)
	}
	return t, nil
}

// Encode returns the table as JSON that people can read.
func (t *Tokens) Encode() ([]byte, error) {
	t.Version = 1
	b, err := json.MarshalIndent(t, "", "  ")
	return append(b, '\n'), err
}

// Identity is the identity that a token stands for.
type Identity struct {
	ID        string    // public id of the token
	Name      string    // of the person or the machine, for the audit trail
	Scopes    []string  // Agents, Hosts, Approvers, Admins
	Workspace string    // the only workspace that it may reach; "": any
	Created   time.Time // zero: not known
	Expires   time.Time // zero: never
}

// May reports whether the token is for a role. A person decides about all workspaces, so a token for one workspace is not for that
// role.
func (i Identity) May(role string) bool {
	has := func(scopes ...string) bool {
		return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(i.Scopes, s) })
	}
	switch role {
	case Agents, Hosts:
		return has(role)
	case Approvers:
		return has(Approvers, Admins) && i.Workspace == ""
	case Admins:
		return has(Admins) && i.Workspace == ""
	}
	return false
}

// Refusal says why the token is not for a role in a workspace ("": any), and what to do about it. It is "" if the token is for that
// role.
func (i Identity) Refusal(role, workspace string) string {
	switch {
	case !i.May(role):
		return fmt.Sprintf("this token is not for the role %s: \"stet token create NAME --scope %[1]s\" makes one", role)
	case workspace != "" && !i.reaches(workspace):
		return fmt.Sprintf("this token is for workspace %q alone", i.Workspace)
	}
	return ""
}

// reaches reports whether the token is for a workspace.
func (i Identity) reaches(workspace string) bool {
	return i.Workspace == "" || i.Workspace == workspace
}

// Authority checks tokens. It may be used concurrently.
type Authority interface {
	// Identify returns the identity of a token. The error says why the token is not valid, in words for the client.
	Identify(token string) (Identity, error)
	// Holds reports whether the token of an identity is still valid.
	Holds(Identity) bool
}

// ErrToken is an Authority's error for an unknown token.
var ErrToken = errors.New("the token is not known here")

// The scopes of tokens, which are roles.
const (
	Agents    = wire.Agent // may make calls
	Hosts     = wire.Host  // may be the host of a workspace
	Approvers = "approver" // may answer questions
	Admins    = "admin"    // may answer questions, and see and change stored data
)

var (
	scopes = []string{Agents, Hosts, Approvers, Admins}
	roles  = []string{Agents, Hosts} // of connections
)

// sessionOf returns the gateway's and its hosts' name for a client session. The name has the token's id, so one token cannot reach
// the sessions of another.
func (i Identity) sessionOf(name string) string { return "gateway-" + i.ID + "-" + name }
