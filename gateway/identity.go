package gateway

import (
	"errors"
	"slices"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
)

// Identity is who a token stands for.
type Identity struct {
	ID        string    // public name of the token
	Name      string    // of the person or the machine, for the trail
	Scopes    []string  // Agents, Hosts, Persons
	Workspace string    // the only one that it is for; "" is any
	Created   time.Time // zero: not known
	Expires   time.Time // zero: never
}

// May reports whether the token is for a role. A person decides about all
// workspaces: a token for one workspace is not for that role.
func (i Identity) May(role string) bool {
	return slices.Contains(i.Scopes, role) && (role != Persons || i.Workspace == "")
}

// reaches reports whether the token is for a workspace.
func (i Identity) reaches(workspace string) bool {
	return i.Workspace == "" || i.Workspace == workspace
}

// Authority knows the tokens. It may be used concurrently.
type Authority interface {
	// Identify says whose token it is. The error says why it is not good, in words
	// that the client may be told.
	Identify(token string) (Identity, error)
	// Holds reports whether the token of an identity is good still.
	Holds(Identity) bool
}

// ErrToken is an Authority's answer to a token that it does not know.
var ErrToken = errors.New("the token is not known here")

// The scopes of tokens, which are the roles of a connection.
const (
	Agents  = wire.Agent  // makes calls
	Hosts   = wire.Host   // has a workspace, and does them
	Persons = wire.Person // decides
)

var scopes = []string{Agents, Hosts, Persons}

// sessionOf is the name by which the gateway and its hosts know a client session. It has
// the token's id in it, so that no token reaches another's sessions.
func (i Identity) sessionOf(name string) string { return "gateway-" + i.ID + "-" + name }
