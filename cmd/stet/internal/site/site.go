// Package site has everything that stet serve offers on its one port: the gateway, the file tools over MCP, the proxy, and the page
// for people.
package site

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
)

// Drain is the time limit for running requests after the site is asked to end.
const Drain = 30 * time.Second

// Config configures a site.
type Config struct {
	Settings    *config.Config
	Proxy       proxyserver.Config
	Tools       toolset.Options
	Root        string   // directory of the local workspace
	Name        string   // its name at the gateway
	NoWorkspace bool     // there is no local workspace, only those of hosts
	Cert, Key   string   // files for TLS; both or none
	ClientCA    string   // file of CAs for client certificates; "": no client certificates
	Accounts    Accounts // of people, besides tokens
	Hosts       []string
	Proxies     Proxies // in front of the server

	Calls, Answers *limits.Budget // memory of local calls, and of data that the gateway forwards
	QuestionBytes  int64          // memory of open questions
	Held           *limits.Held   // memory of sessions and connections

	Bus gateway.Bus // to other processes; nil: none

	Version  string
	TakeBack func(ctx context.Context, trail store.Store, in web.TakeBack, person string) (web.TakenBack, error)
	// Compact returns a function that compacts a stored session; nil if there is no model.
	Compact func(session.Store) (func(ctx context.Context, id string) (next string, err error), error)
}

// Site is everything that stet serve offers on its one port.
type Site struct {
	Server   *proxyserver.Server // the proxy and its listener
	Tools    *toolset.Set        // of the local workspace; nil: none
	Queue    *approval.Queue
	Sessions *session.Hub
	Log      *slog.Logger
	// Tokens of this process: for the person who started it, and for agents on this machine.
	PersonToken, AgentToken string

	config  Config
	mcp     *mcpserver.Server
	hub     *gateway.Hub
	remotes *remotes // remote workspaces over MCP
	keys    *tokenfile.Keyring
	tokens  limits.Tokens // the same, of calls and questions, over the gateway and MCP
	lock    io.Closer
	trail   store.Store     // if there is no local workspace, whose tools open it
	journal *record.Journal // the same
	keeping sync.WaitGroup  // the goroutine that prunes that trail
	unkeep  context.CancelFunc
	models  *prices.Catalog
	compact func(ctx context.Context, id string) (next string, err error) // nil: no model is configured
	signIn  *signIn                                                       // nil: people use tokens
	signers *x509.CertPool                                                // CAs of client certificates; nil: none
	secret  []byte                                                        // for the keys of logins

	join    context.CancelFunc // ends the host of the local workspace
	streams context.CancelFunc // ends the UI's event streams
	joined  sync.WaitGroup
	guards  sync.WaitGroup // the goroutines that ask the questions about agents' own tools here, too, and that send messages to browsers
}

// account returns the store of the audit trail and of requests.
func (s *Site) account() store.Store {
	if s.Tools != nil {
		return s.Tools.Trail
	}
	return s.trail
}

// routes returns the handlers of the port.
func (s *Site) routes(streams context.Context, allowed []string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.certified(s.hub.Handler()))
	mux.Handle("/mcp/{workspace}", httpguard.LimitPauses(s.certified(s.hub.Guard(s.remotes)), httpguard.Pause))
	if s.mcp != nil {
		here := httpguard.LimitPauses(s.certified(s.hub.Guard(s.agents(s.mcp.Handler()))), httpguard.Pause)
		mux.Handle("/mcp", here)
		mux.Handle("/mcp/"+s.config.Name, at("/mcp", here))
	} else {
		mux.HandleFunc("/mcp", noWorkspace)
	}
	mux.Handle("/p/{token}/", s.hub.Guard(http.HandlerFunc(s.toProxy)))
	mux.Handle("GET /healthz", s.hub.Guard(http.HandlerFunc(healthz)))
	mux.Handle("GET /readyz", s.hub.Guard(&readiness{site: s}))
	mux.Handle("/", endedBy(streams, s.ui(streams, allowed)))
	return mux
}

// agents accepts only requests with a token for the local workspace. Refused requests are recorded.
func (s *Site) agents(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := s.keys.Lets(gateway.Bearer(r), s.config.Name)
		if err != nil {
			s.hub.Refused(r, "an agent's token for this workspace is needed")
			http.Error(w, err.Error(), tokenStatus(w, err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// tokenStatus returns the status of a refusal of a token; err says why. It adds the header that belongs to it.
func tokenStatus(w http.ResponseWriter, err error) int {
	var forbidden *tokenfile.Forbidden
	if errors.As(err, &forbidden) {
		return http.StatusForbidden
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="stet"`)
	return http.StatusUnauthorized
}

// toProxy passes a model request to the proxy. The token is in the path, because the Authorization header is for the provider.
func (s *Site) toProxy(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	next := http.Handler(s.Server.Proxy)
	who, err := s.keys.Lets(token, "")
	if err == nil && who.Workspace != "" {
		err = &tokenfile.Forbidden{Why: fmt.Sprintf("its token is for workspace %q alone, and not for models", who.Workspace)}
	}
	if err != nil {
		s.hub.Refused(r, "the base URL: "+err.Error())
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w = httpguard.NewBody(r.Context(), w, r, httpguard.Pause).Answer(w)
			s.Server.Proxy.Refuse(w, r, tokenStatus(w, err), "the base URL: "+err.Error())
		})
	}
	http.StripPrefix("/p/"+token, next).ServeHTTP(w, r)
}

// at replaces the path of all requests.
func at(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := *r.URL
		to.Path, to.RawPath = path, ""
		own := r.WithContext(r.Context())
		own.URL = &to
		next.ServeHTTP(w, own)
	})
}

// noWorkspace answers requests for a local workspace if there is none.
func noWorkspace(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "there is no workspace here: name that of a host, as /mcp/WORKSPACE", http.StatusNotFound)
}

// endedBy ends requests when ctx ends; event streams need that.
func endedBy(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(own))
	})
}

// Close accepts no more calls, lets running calls end for a while or until ctx ends, and closes everything.
func (s *Site) Close(ctx context.Context) error {
	draining, cancel := context.WithTimeout(ctx, Drain)
	defer cancel()
	var errs []error
	if s.hub != nil {
		_ = s.hub.Drain(draining) // the remaining calls are cut off
		s.join()
		s.joined.Wait()
		errs = append(errs, s.hub.Close())
	}
	s.streams()
	s.guards.Wait()
	if s.remotes != nil {
		errs = append(errs, s.remotes.close())
	}
	if s.mcp != nil {
		errs = append(errs, s.mcp.Close())
	}
	if s.Server != nil {
		errs = append(errs, s.Server.Close(draining, Drain))
	}
	if s.Tools != nil {
		errs = append(errs, s.Tools.Close())
	}
	if s.trail != nil {
		s.unkeep()
		s.keeping.Wait()
		errs = append(errs, s.journal.Close(), s.trail.Close())
	}
	if s.Sessions != nil {
		errs = append(errs, s.Sessions.Close())
	}
	if log := s.config.Tools.LogFile; log != nil { // if there is no local workspace
		errs = append(errs, log.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
