package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Identity is the identity that a token stands for.
type Identity struct {
	ID        string    // public id of the token
	Name      string    // of the person or the machine, for the audit trail
	Scopes    []string  // Agents, Hosts, Approvers, Admins
	Workspace string    // the only workspace that it may reach; "": any
	Created   time.Time // zero: not known
	Expires   time.Time // zero: never
	Quota     Quota     // limits on its requests
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
	case Persons, Approvers:
		return has(Approvers, Admins, Persons) && i.Workspace == ""
	case Admins:
		return has(Admins, Persons) && i.Workspace == ""
	}
	return false
}

// Refusal says why the token is not for a role in a workspace ("": any), and what to do about it. It is "" if the token is for that
// role.
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
	// Persons is the role in which approvers and admins connect to the gateway. As a scope it is an older name for Admins.
	Persons = wire.Person
)

var (
	scopes = []string{Agents, Hosts, Approvers, Admins}
	roles  = []string{Agents, Hosts, Persons} // of connections
)

// sessionOf returns the gateway's and its hosts' name for a client session. The name has the token's id, so one token cannot reach
// the sessions of another.
func (i Identity) sessionOf(name string) string { return "gateway-" + i.ID + "-" + name }
