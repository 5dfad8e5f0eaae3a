package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/proxyserver"
	"github.com/stet-dev/stet/internal/tokenfile"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// site is all that stet serve has on its one port.
type site struct {
	server  *proxyserver.Server // the proxy, and what listens
	hands   *hands              // the workspace here; nil: there is none
	mcp     *mcpserver.Server
	hub     *gateway.Hub
	remotes *remotes // workspaces elsewhere, over MCP
	queue   *approval.Queue
	keys    *tokenfile.Keyring
	log     *slog.Logger

	state    string
	lock     io.Closer
	name     string          // of the workspace here
	trail    *sqlite.Store   // where there are no hands, which have one
	journal  *record.Journal // likewise
	keeping  sync.WaitGroup  // what prunes that trail
	unkeep   context.CancelFunc
	sessions *session.Hub
	models   *prices.Catalog
	config   *config.Config
	compact  func(ctx context.Context, id string) (next string, err error) // nil: no model is configured

	person, agent string // tokens for this process
	pages         []byte // what the keys of logins are made of

	join    context.CancelFunc // ends the host of the workspace here
	streams context.CancelFunc // ends what the UI follows
	joined  sync.WaitGroup
}

// account is the store of the audit trail and of requests.
func (s *site) account() *sqlite.Store {
	if s.hands != nil {
		return s.hands.trail
	}
	return s.trail
}

// routes are what the port has.
func (s *site) routes(streams context.Context, allowed []string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.hub.Handler())
	mux.Handle("/mcp/{workspace}", gateway.Guard(s.remotes, allowed, s.hub.Refused))
	if s.mcp != nil {
		here := gateway.Guard(s.noted(s.mcp.Handler()), allowed, s.hub.Refused)
		mux.Handle("/mcp", here)
		mux.Handle("/mcp/"+s.name, at("/mcp", here))
	} else {
		mux.HandleFunc("/mcp", noWorkspace)
	}
	mux.Handle("/p/{token}/", gateway.Guard(http.HandlerFunc(s.toProxy), allowed, s.hub.Refused))
	mux.Handle("GET /healthz", gateway.Guard(http.HandlerFunc(healthz), allowed, s.hub.Refused))
	mux.Handle("GET /readyz", gateway.Guard(&readiness{site: s}, allowed, s.hub.Refused))
	mux.Handle("/", endedBy(streams, s.ui(allowed)))
	return mux
}

// noted writes down who asks for the workspace here without a token for it, and will
// be refused. (FILE-11)
func (s *site) noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.keys.Lets(gateway.Bearer(r), s.name) {
			s.hub.Refused(r, "an agent's token for this workspace is needed")
		}
		next.ServeHTTP(w, r)
	})
}

// toProxy has a request to a model go through the proxy. Its token stands in the
// path, since the Authorization header is the provider's.
func (s *site) toProxy(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	who, ok := s.keys.May(token, gateway.Agents)
	if !ok {
		const why = "the token in the base URL is not known here, or not for an agent"
		s.hub.Refused(r, why)
		http.Error(w, why, http.StatusUnauthorized)
		return
	}
	if who.Workspace != "" {
		why := fmt.Sprintf("the token in the base URL is for workspace %q alone, and not for models", who.Workspace)
		s.hub.Refused(r, why)
		http.Error(w, why, http.StatusForbidden)
		return
	}
	http.StripPrefix("/p/"+token, s.server.Proxy).ServeHTTP(w, r)
}

// at has requests ask for a path, whatever they asked for.
func at(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := *r.URL
		to.Path, to.RawPath = path, ""
		own := r.WithContext(r.Context())
		own.URL = &to
		next.ServeHTTP(w, own)
	})
}

// noWorkspace answers who asks for the workspace here, where there is none.
func noWorkspace(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "there is no workspace here: name that of a host, as /mcp/WORKSPACE", http.StatusNotFound)
}

// endedBy ends requests when ctx ends, which streams of events wait for.
func endedBy(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(own))
	})
}

// close takes no more calls, lets those under way end for a while or until ctx
// ends, and closes everything.
func (s *site) close(ctx context.Context) error {
	draining, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	var errs []error
	if s.hub != nil {
		_ = s.hub.Drain(draining) // what is left is cut off
		s.join()
		s.joined.Wait()
		errs = append(errs, s.hub.Close())
	}
	s.streams()
	if s.remotes != nil {
		errs = append(errs, s.remotes.close())
	}
	if s.mcp != nil {
		errs = append(errs, s.mcp.Close())
	}
	if s.server != nil {
		errs = append(errs, s.server.Close(draining, drain))
	}
	if s.hands != nil {
		errs = append(errs, s.hands.close())
	}
	if s.trail != nil {
		s.unkeep()
		s.keeping.Wait()
		errs = append(errs, s.journal.Close(), s.trail.Close())
	}
	if s.sessions != nil {
		errs = append(errs, s.sessions.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// workspaceName is what a workspace is called: what is given, or the directory's
// name as far as it is one.
func workspaceName(given, root string) (string, error) {
	name := given
	if name == "" {
		name = strings.Trim(strings.Map(func(c rune) rune {
			if !strings.ContainsRune(nameLetters, c) {
				return '-'
			}
			return c
		}, filepath.Base(root)), "-")
		if name = name[:min(len(name), 64)]; name == "" {
			name = "workspace"
		}
	}
	if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(nameLetters, c) }) {
		return "", fmt.Errorf("--workspace: %q is no name: up to 64 letters, digits, dots, - and _", name)
	}
	return name, nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
