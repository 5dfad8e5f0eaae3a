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
	Expires   time.Time // zero: never
}

// May reports whether the token is for a role. A person decides about all
// workspaces: a token for one of them is nobody's who decides.
func (i Identity) May(role string) bool {
	return slices.Contains(i.Scopes, role) && (role != Persons || i.Workspace == "")
}

// reaches reports whether the token is for a workspace.
func (i Identity) reaches(workspace string) bool {
	return i.Workspace == "" || i.Workspace == workspace
}

// Authority knows the tokens. It may be used concurrently.
type Authority interface {
	// Identify says whose token it is. The error says why it is nobody's, in words
	// that may be told.
	Identify(token string) (Identity, error)
	// Holds reports whether the token of an identity is good still.
	Holds(Identity) bool
}

// ErrToken is an Authority's answer to a token that is nobody's, and its reason
// where it was somebody's.
var ErrToken = errors.New("the token is not known here")

// The scopes of tokens, which are the roles of a connection.
const (
	Agents  = wire.Agent  // makes calls
	Hosts   = wire.Host   // has a workspace, and does them
	Persons = wire.Person // decides
)

var scopes = []string{Agents, Hosts, Persons}

// sessionOf is the client session by which limits, grants and undo go: what a
// client calls its session is its own affair, so that no token reaches another's.
func (i Identity) sessionOf(name string) string { return "gateway-" + i.ID + "-" + name }
