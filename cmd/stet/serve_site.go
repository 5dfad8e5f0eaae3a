package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/web"
)

// site is all that stet serve has on its one port.
type site struct {
	server *server // the proxy, and what listens
	hands  *hands  // the workspace here; nil: there is none
	mcp    *mcpserver.Server
	hub    *gateway.Hub
	queue  *approval.Queue
	keys   *keyring
	log    *slog.Logger

	state    string
	lock     io.Closer
	name     string          // of the workspace here
	trail    *sqlite.Store   // where there are no hands, which have one
	journal  *record.Journal // likewise
	sessions *session.Hub
	models   *prices.Catalog
	inForce  []web.Setting
	compact  func(ctx context.Context, id string) (next string, err error) // nil: no model is configured

	person, agent string // tokens for this process

	join    context.CancelFunc // ends the host of the workspace here
	streams context.CancelFunc // ends what the UI follows
	joined  sync.WaitGroup
}

// openSite makes everything, and listens to nothing yet.
func (p *program) openSite(ctx context.Context, cmd *cobra.Command, o *options, root string, f serveFlags) (_ *site, err error) {
	s := &site{queue: new(approval.Queue), name: f.name, join: func() {}, streams: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	tools, err := p.handOptions(cmd, root)
	if err != nil {
		return nil, err
	}
	tools.dedupe = false // it is for one client: over HTTP several may share a session
	if s.state, err = p.stateDir(); err != nil {
		return nil, err
	}
	if s.lock, err = lockSite(s.state); err != nil {
		return nil, err
	}
	if s.server, s.log, err = p.openProxy(ctx, o, "", f.allowed); err != nil {
		return nil, err
	}
	if err := s.openKeys(); err != nil {
		return nil, err
	}
	if err := s.openShown(ctx, p, cmd, o, root); err != nil {
		return nil, err
	}
	if f.none {
		err = s.openTrail(ctx, p)
	} else {
		err = s.openHands(ctx, p, root, tools)
	}
	if err != nil {
		return nil, err
	}
	return s, s.openHub(ctx, tools.rate, f)
}

// openKeys makes the tokens of this process.
func (s *site) openKeys() (err error) {
	s.keys = &keyring{file: filepath.Join(s.state, tokensFile), log: s.log}
	if s.person, err = s.keys.make("the person who started stet", gateway.Persons, ""); err != nil {
		return err
	}
	s.agent, err = s.keys.make("agent of this machine", gateway.Agents, "")
	return err
}

// openShown opens what the UI shows besides questions and the trail.
func (s *site) openShown(ctx context.Context, p *program, cmd *cobra.Command, o *options, root string) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := sqlite.OpenSessions(opening, p.trailFile())
	if err != nil {
		return err
	}
	s.sessions = &session.Hub{Store: store}
	if s.models, err = p.models(o); err != nil {
		return err
	}
	if s.inForce, err = p.inForce(cmd, root); err != nil {
		return err
	}
	s.compact, err = p.compacting(cmd, s.sessions)
	return err
}

// openHub makes the gateway, and what the port has.
func (s *site) openHub(ctx context.Context, rate int, f serveFlags) (err error) {
	s.hub, err = gateway.New(gateway.Config{
		Authority: s.keys, Queue: s.queue, Journal: s.journal, AllowedHosts: f.allowed,
		Limits: gateway.Limits{Rate: rate}, Version: version(), Log: s.log,
	})
	if err != nil {
		return err
	}
	if s.hands != nil {
		s.joinHub(ctx)
	}
	streams, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.streams = stop
	s.server.http = &http.Server{
		Handler: s.routes(streams, f.allowed), ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return nil
}

// account is the store of the audit trail and of requests.
func (s *site) account() *sqlite.Store {
	if s.hands != nil {
		return s.hands.trail
	}
	return s.trail
}

// openTrail opens the audit trail where no workspace does.
func (s *site) openTrail(ctx context.Context, p *program) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.trail, err = sqlite.Open(opening, p.trailFile()); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	s.journal = &record.Journal{Trail: s.trail, Log: s.log}
	return nil
}

// openHands opens the workspace. Who decides is asked at the UI, in the client
// where policy lets that suffice, or by "stet approve".
func (s *site) openHands(ctx context.Context, p *program, root string, o *handOptions) (err error) {
	if s.hands, err = p.openHands(ctx, root, o); err != nil {
		return err
	}
	s.queue, s.journal = s.hands.queue, s.hands.handler.Journal
	s.hands.handler.Approver = gateway.Relay{Next: s.hands.handler.Approver}
	s.mcp, err = s.hands.server(mcpConfig{http: mcpserver.HTTP{
		Allow: func(token string) bool { _, ok := s.keys.may(token, gateway.Agents); return ok },
	}})
	return err
}

// joinHub gives the workspace to the gateway.
func (s *site) joinHub(ctx context.Context) {
	joining, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.join = cancel
	host := &gateway.Host{
		Workspace: s.name, Caller: s.hands.handler, Log: s.log,
		End: func(session string) {
			s.hands.handler.End(session)
			s.hands.tools.End(session)
		},
	}
	s.joined.Go(func() {
		if err := s.hub.Join(joining, host); err != nil {
			s.log.Error("workspace", "err", err)
		}
	})
}

// routes are what the port has.
func (s *site) routes(streams context.Context, allowed []string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.hub.Handler())
	if s.mcp != nil {
		mux.Handle("/mcp", s.mcp.Handler())
	}
	mux.Handle("/p/{token}/", gateway.Guard(http.HandlerFunc(s.toProxy), allowed, nil))
	mux.Handle("/", endedBy(streams, s.ui(allowed)))
	return mux
}

// toProxy has a request to a model go through the proxy. Its token stands in the
// path, since the Authorization header is the provider's.
func (s *site) toProxy(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	if _, ok := s.keys.may(token, gateway.Agents); !ok {
		http.Error(w, "the token in the base URL is not known here, or not for an agent", http.StatusUnauthorized)
		return
	}
	http.StripPrefix("/p/"+token, s.server.proxy).ServeHTTP(w, r)
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

// start listens.
func (s *site) start(listener net.Listener, f serveFlags) {
	scheme, serve := "http://", func() error { return s.server.http.Serve(listener) }
	if f.cert != "" {
		scheme, serve = "https://", func() error { return s.server.http.ServeTLS(listener, f.cert, f.key) }
	}
	s.server.base = scheme + listener.Addr().String()
	s.server.run(serve, listener.Addr())
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
	if s.mcp != nil {
		errs = append(errs, s.mcp.Close())
	}
	if s.server != nil && s.server.base != "" {
		errs = append(errs, s.server.close(draining, drain))
	} else if s.server != nil {
		errs = append(errs, s.server.writeDown(ctx))
	}
	if s.hands != nil {
		errs = append(errs, s.hands.close())
	}
	if s.trail != nil {
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
