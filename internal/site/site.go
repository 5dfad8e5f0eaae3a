// Package site is everything that stet serve has on its one port: the gateway, the file
// tools over MCP, the proxy, and the page for people.
package site

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/proxyserver"
	"github.com/stet-dev/stet/internal/signin"
	"github.com/stet-dev/stet/internal/slowbody"
	"github.com/stet-dev/stet/internal/tokenfile"
	"github.com/stet-dev/stet/internal/toolset"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/web"
)

// Drain is how long requests in flight may take after the site was told to end.
const Drain = 30 * time.Second

// Config says what a site has.
type Config struct {
	Settings    *config.Config
	Proxy       proxyserver.Config
	Tools       toolset.Options
	Root        string         // directory of the workspace here
	Name        string         // what it is called at the gateway
	NoWorkspace bool           // there is none here, only those of hosts elsewhere
	Cert, Key   string         // files for TLS; both or none
	ClientCA    string         // file of certificates that may sign those of clients; "": none count
	SignIn      *signin.Config // of people with an account elsewhere; nil: they have tokens
	Quota       gateway.Quota  // of tokens that have none of their own
	Hosts       []string
	Proxies     Proxies // in front of the server

	Calls, Answers *budget.Budget // memory of calls that are done here, and of what passes through the gateway
	QuestionBytes  int64          // memory of open questions

	Bus gateway.Bus // to other processes; nil: there are none

	Version string
	Exports map[string]web.Export
	// Compact returns what has a session of the store summed up; nil where no model
	// can be asked.
	Compact func(session.Store) (func(ctx context.Context, id string) (next string, err error), error)
}

// Site is all that stet serve has on its one port.
type Site struct {
	Server   *proxyserver.Server // the proxy, and what listens
	Tools    *toolset.Set        // of the workspace here; nil: there is none
	Queue    *approval.Queue
	Sessions *session.Hub
	Log      *slog.Logger
	// Tokens for this process: of the person who started it, and of agents on this
	// machine.
	PersonToken, AgentToken string

	config  Config
	mcp     *mcpserver.Server
	hub     *gateway.Hub
	remotes *remotes // workspaces elsewhere, over MCP
	keys    *tokenfile.Keyring
	quotas  *gateway.Quotas // what is counted for each token
	lock    io.Closer
	trail   store.Store     // where there is no workspace here, which has one
	journal *record.Journal // likewise
	keeping sync.WaitGroup  // what prunes that trail
	unkeep  context.CancelFunc
	models  *prices.Catalog
	compact func(ctx context.Context, id string) (next string, err error) // nil: no model is configured
	signIn  *signin.SignIn                                                // nil: people have tokens
	signers *x509.CertPool                                                // of clients' certificates; nil: none count
	secret  []byte                                                        // what the keys of logins are made of

	join    context.CancelFunc // ends the host of the workspace here
	streams context.CancelFunc // ends what the UI follows
	joined  sync.WaitGroup
}

// account is the store of the audit trail and of requests.
func (s *Site) account() store.Store {
	if s.Tools != nil {
		return s.Tools.Trail
	}
	return s.trail
}

// routes are what the port has.
func (s *Site) routes(streams context.Context, allowed []string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.certified(s.hub.Handler()))
	mux.Handle("/mcp/{workspace}", s.certified(gateway.Guard(s.remotes, allowed, s.hub.Refused)))
	if s.mcp != nil {
		here := s.certified(gateway.Guard(s.agents(s.mcp.Handler()), allowed, s.hub.Refused))
		mux.Handle("/mcp", here)
		mux.Handle("/mcp/"+s.config.Name, at("/mcp", here))
	} else {
		mux.HandleFunc("/mcp", noWorkspace)
	}
	mux.Handle("/p/{token}/", gateway.Guard(http.HandlerFunc(s.toProxy), allowed, s.hub.Refused))
	mux.Handle("GET /healthz", gateway.Guard(http.HandlerFunc(healthz), allowed, s.hub.Refused))
	mux.Handle("GET /readyz", gateway.Guard(&readiness{site: s}, allowed, s.hub.Refused))
	mux.Handle("/", endedBy(streams, s.ui(allowed)))
	return mux
}

// agents lets requests for the workspace here in that have a token for it. Others are
// written down. (FILE-11)
func (s *Site) agents(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.keys.Lets(gateway.Bearer(r), s.config.Name)
		if err != nil {
			s.hub.Refused(r, "an agent's token for this workspace is needed")
			refuseToken(w, err)
			return
		}
		within(s.hub, s.quotas, w, r, who, next)
	})
}

// within serves a request of MCP within the quota of its token, or answers that it is
// over. Each message of a batch counts.
func within(hub *gateway.Hub, quotas *gateway.Quotas, w http.ResponseWriter, r *http.Request, who gateway.Identity, next http.Handler) {
	refuse := func(over *gateway.OverQuota) {
		hub.Refused(r, "over the quota of its token")
		http.Error(w, over.Error(), over.Status())
	}
	release, over := quotas.Begin(w, r, who)
	if over != nil {
		refuse(over)
		return
	}
	defer release()
	slowbody.Limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch err := quotas.Batch(w, r, who); {
		case errors.As(err, &over):
			refuse(over)
		case err != nil:
			http.Error(w, "the body was not read: "+err.Error(), http.StatusBadRequest)
		default:
			next.ServeHTTP(w, r)
		}
	}), slowbody.Usual).ServeHTTP(w, r)
}

// refuseToken answers a request whose token is not good for it; err says why.
func refuseToken(w http.ResponseWriter, err error) {
	var forbidden *tokenfile.Forbidden
	if errors.As(err, &forbidden) {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="stet"`)
	http.Error(w, err.Error(), http.StatusUnauthorized)
}

// toProxy has a request to a model go through the proxy. Its token stands in the
// path, since the Authorization header is the provider's.
func (s *Site) toProxy(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	who, err := s.keys.Lets(token, "")
	if err != nil {
		s.hub.Refused(r, "the token in the base URL is not known here, or not for an agent")
		refuseToken(w, fmt.Errorf("the base URL: %w", err))
		return
	}
	if who.Workspace != "" {
		why := fmt.Sprintf("the token in the base URL is for workspace %q alone, and not for models", who.Workspace)
		s.hub.Refused(r, why)
		http.Error(w, why, http.StatusForbidden)
		return
	}
	release, over := s.quotas.Begin(w, r, who)
	if over != nil {
		s.hub.Refused(r, "over the quota of its token")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(over.Status())
		_ = json.NewEncoder(w).Encode(map[string]any{ // as the providers do; the client may be gone
			"type": "error", "error": map[string]string{"type": "rate_limit_error", "message": over.Error()},
		})
		return
	}
	defer release()
	http.StripPrefix("/p/"+token, s.Server.Proxy).ServeHTTP(w, r)
}

// at has all requests ask for one path.
func at(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := *r.URL
		to.Path, to.RawPath = path, ""
		own := r.WithContext(r.Context())
		own.URL = &to
		next.ServeHTTP(w, own)
	})
}

// noWorkspace answers requests for the workspace here, where there is none.
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

// Close takes no more calls, lets those under way end for a while or until ctx
// ends, and closes everything.
func (s *Site) Close(ctx context.Context) error {
	draining, cancel := context.WithTimeout(ctx, Drain)
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
	if log := s.config.Tools.LogFile; log != nil { // where there is no workspace here
		errs = append(errs, log.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
