package site

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/tool"
)

// remotes serves the tools of remote workspaces over MCP, at /mcp/WORKSPACE. Each has a separate server, made at the first request
// while its host is connected. The server stays when the host disconnects: calls then fail with host_unavailable, and succeed again
// when the host is back.
type remotes struct {
	hub     *gateway.Hub
	keys    *tokenfile.Keyring
	allowed []string // allowed Host headers
	held    *limits.Held
	several bool // several servers form one gateway
	version string
	log     *slog.Logger

	mu     sync.Mutex
	closed bool
	of     map[string]*remote
}

// remote is the MCP server of a remote workspace, with the tools at the time when the server was made.
type remote struct {
	tools   []tool.Spec
	server  *mcpserver.Server
	handler http.Handler
}

// ServeHTTP implements http.Handler. The workspace is in the path.
func (m *remotes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := m.keys.Lets(gateway.Bearer(r), r.PathValue("workspace")); err != nil {
		m.hub.Refused(r, "an agent's token for this workspace is needed")
		http.Error(w, err.Error(), tokenStatus(w, err))
		return
	}
	to, old, err := m.find(r.PathValue("workspace"))
	if old != nil {
		_ = old.Close() // Close returns no error; its clients start again
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	to.ServeHTTP(w, r)
}

// find returns the handler of a workspace. old is a server with outdated tools; the caller must close it.
func (m *remotes) find(name string) (_ http.Handler, old *mcpserver.Server, err error) {
	caller := m.hub.Caller(name)
	tools := caller.Specs()
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.of[name]
	switch {
	case m.closed:
		return nil, nil, errors.New("stet is shutting down")
	case is != nil && (len(tools) == 0 || slices.EqualFunc(tools, is.tools, sameTool)):
		return is.handler, nil, nil
	case is != nil:
		old = is.server
	case len(tools) == 0:
		return nil, nil, errors.New("host_unavailable: no host is connected for this workspace: \"stet host\" on its machine connects one")
	}
	if is, err = m.open(name, caller, tools); err != nil {
		return nil, nil, err
	}
	if m.of == nil {
		m.of = map[string]*remote{}
	}
	m.of[name] = is
	return is.handler, old, nil
}

// sameTool reports whether two tools are the same for a client.
func sameTool(a, b tool.Spec) bool {
	return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema) &&
		a.ReadOnly == b.ReadOnly && a.Destructive == b.Destructive
}

func (m *remotes) open(name string, caller *gateway.Remote, tools []tool.Spec) (*remote, error) {
	caller.Waits = func(ctx context.Context, c tool.Call, waiting bool) {
		mcpserver.Waits(ctx, c.Name+" in workspace "+name, waiting)
	}
	server, err := mcpserver.New(mcpserver.Config{
		Caller: caller, Version: m.version, Await: true, End: caller.End, Logger: m.log,
		HTTP: mcpserver.HTTP{AllowedHosts: m.allowed, Allow: m.keys.Allow(name), Elsewhere: m.several, Held: m.held},
	})
	if err != nil {
		return nil, err
	}
	return &remote{tools, server, at("/mcp", server.Handler())}, nil
}

// close ends all servers, and their calls.
func (m *remotes) close() error {
	m.mu.Lock()
	m.closed = true
	all := m.of
	m.of = nil
	m.mu.Unlock()
	var errs []error
	for _, is := range all {
		errs = append(errs, is.server.Close())
	}
	return errors.Join(errs...)
}
