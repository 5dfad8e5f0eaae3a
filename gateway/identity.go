package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/gateway/wire"
)

// Identity is who a token stands for.
type Identity struct {
	ID        string    // public name of the token
	Name      string    // of the person or the machine, for the trail
	Scopes    []string  // Agents, Hosts, Approvers, Admins
	Workspace string    // the only one that it is for; "" is any
	Created   time.Time // zero: not known
	Expires   time.Time // zero: never
	Quota     Quota     // how much may be asked for with it
}

// May reports whether the token is for a role. Those who decide do so about all
// workspaces: a token for one workspace is not for that.
func (i Identity) May(role string) bool {
	has := func(scopes ...string) bool {
		return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(i.Scopes, s) })
	}
	switch role {
	case Agents, Hosts:
		return has(role)
	case Persons, Approvers:
		return has(Approvers, Admins, Persons) && i.Workspace == ""
	case Admins:
		return has(Admins, Persons) && i.Workspace == ""
	}
	return false
}

// Refusal says why the token is not for a role in a workspace ("": any), and what to do
// about it. It is "" where the token is for that.
func (i Identity) Refusal(role, workspace string) string {
	switch {
	case !i.May(role):
		scope := role
		if role == Persons {
			scope = Approvers
		}
		return fmt.Sprintf("this token is not for the role %s: \"stet token create NAME --scope %s\" makes one", role, scope)
	case workspace != "" && !i.reaches(workspace):
		return fmt.Sprintf("this token is for workspace %q alone", i.Workspace)
	}
	return ""
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

// The scopes of tokens, which are roles.
const (
	Agents    = wire.Agent // makes calls
	Hosts     = wire.Host  // has a workspace, and does them
	Approvers = "approver" // answers questions
	Admins    = "admin"    // does that, and sees and changes what is stored
	// Persons is the role in which approvers and admins connect to the gateway. As a
	// scope it is an older name for Admins.
	Persons = wire.Person
)

var (
	scopes = []string{Agents, Hosts, Approvers, Admins}
	roles  = []string{Agents, Hosts, Persons} // of connections
)

// sessionOf is the name by which the gateway and its hosts know a client session. It has
// the token's id in it, so that no token reaches another's sessions.
func (i Identity) sessionOf(name string) string { return "gateway-" + i.ID + "-" + name }
