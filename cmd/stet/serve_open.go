package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// openSite makes everything, and listens to nothing yet.
func (p *program) openSite(ctx context.Context, cmd *cobra.Command, o *config.Config, root string, f serveFlags) (_ *site, err error) {
	s := &site{queue: &approval.Queue{Bytes: f.memory.part(questionShare).Limit()}, name: f.name, join: func() {}, streams: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	tools, err := toolOptionsOf(o)
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
	if err := s.openShown(ctx, p, cmd, o); err != nil {
		return nil, err
	}
	if f.none {
		err = s.openTrail(ctx, p, tools.auditDays)
	} else {
		err = s.openHands(ctx, p, root, tools, f)
	}
	if err != nil {
		return nil, err
	}
	return s, s.openHub(ctx, p, tools.rate, f)
}

// openKeys makes the tokens of this process, and reads what logins are proved by.
func (s *site) openKeys() (err error) {
	if s.pages, err = pagesSecret(s.state); err != nil {
		return err
	}
	s.keys = &keyring{file: filepath.Join(s.state, tokensFile), log: s.log}
	if s.person, err = s.keys.make("who started stet", gateway.Persons, ""); err != nil {
		return err
	}
	s.agent, err = s.keys.make("agent of this machine", gateway.Agents, "")
	return err
}

// openShown opens what the UI shows besides questions and the trail.
func (s *site) openShown(ctx context.Context, p *program, cmd *cobra.Command, o *config.Config) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := sqlite.OpenSessions(opening, p.trailFile())
	if err != nil {
		return err
	}
	s.sessions = &session.Hub{Store: store, Poll: time.Second} // other processes write to it too
	if s.models, err = p.models(o.Prices); err != nil {
		return err
	}
	s.config = o
	s.compact, err = p.compacting(cmd, s.sessions)
	return err
}

// openHub makes the gateway, and what the port has.
func (s *site) openHub(ctx context.Context, p *program, rate int, f serveFlags) (err error) {
	s.hub, err = gateway.New(gateway.Config{
		Authority: s.keys, Queue: s.queue, Journal: s.journal, AllowedHosts: f.allowed,
		Limits: gateway.Limits{Rate: rate}, Memory: f.memory.part(answerShare), Version: version(), Log: s.log,
	})
	if err != nil {
		return err
	}
	s.remotes = &remotes{hub: s.hub, keys: s.keys, allowed: f.allowed, log: s.log}
	if s.hands != nil {
		s.joinHub(ctx)
	}
	streams, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.streams = stop
	s.server.http = &http.Server{
		Handler:           gateway.OneSlash(f.proxies.behind(s.routes(streams, f.allowed))),
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: idle, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(p.absolute(f.cert), p.absolute(f.key))
		if err != nil {
			return misconfigured(fmt.Errorf("--tls-cert, --tls-key: %w", err))
		}
		s.server.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	return nil
}

// openTrail opens the audit trail where no workspace does.
func (s *site) openTrail(ctx context.Context, p *program, days int) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.trail, err = sqlite.Open(opening, p.trailFile()); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	s.journal = &record.Journal{Trail: s.trail, Log: s.log}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.unkeep = stop
	s.keeping.Go(func() { keepTrail(keeping, s.trail, days, s.log) })
	return nil
}

// openHands opens the workspace. Who decides is asked at the UI, in the client
// where policy lets that suffice, or by "stet approve".
func (s *site) openHands(ctx context.Context, p *program, root string, o *toolOptions, f serveFlags) (err error) {
	if s.hands, err = p.openHands(ctx, root, o); err != nil {
		return err
	}
	s.hands.memory = f.memory.part(callShare)
	if s.hands.queue != nil {
		s.hands.queue.Bytes = s.queue.Bytes
	}
	s.queue, s.journal = s.hands.queue, s.hands.handler.Journal
	s.hands.handler.Approver = gateway.Relay{Next: s.hands.handler.Approver}
	s.mcp, err = s.hands.server(mcpConfig{http: mcpserver.HTTP{
		AllowedHosts: f.allowed, Allow: func(token string) bool { return s.keys.lets(token, s.name) },
	}})
	return err
}

// joinHub gives the workspace to the gateway, and waits until calls reach it: a call
// that comes as soon as the address is known must not find the workspace missing.
func (s *site) joinHub(ctx context.Context) {
	joining, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.join = cancel
	joined, once := make(chan struct{}), new(sync.Once)
	host := &gateway.Host{
		Workspace: s.name, Caller: s.hands.handler, Stage: s.hands.tools.Stage, Remembers: true, Log: s.log,
		End: func(session string) {
			s.hands.handler.End(session)
			s.hands.tools.End(session)
		},
		Connected: func(string) { once.Do(func() { close(joined) }) },
	}
	ended := make(chan struct{})
	s.joined.Go(func() {
		defer close(ended)
		if err := s.hub.Join(joining, host); err != nil {
			s.log.Error("workspace", "err", err)
		}
	})
	select {
	case <-joined:
	case <-ended:
	case <-ctx.Done():
	}
}
