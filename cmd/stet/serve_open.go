package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/tokenfile"
	"github.com/stet-dev/stet/mcpserver"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// openSite makes everything, and listens to nothing yet.
func (c *serveCommand) openSite(ctx context.Context, o *config.Config, root string) (_ *site, err error) {
	s := &site{queue: &approval.Queue{Bytes: c.memory.part(questionShare).Limit()}, name: c.name, join: func() {}, streams: func() {}}
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
	if s.state, err = c.stateDir(); err != nil {
		return nil, err
	}
	if s.lock, err = lockSite(s.state); err != nil {
		return nil, err
	}
	if s.server, err = c.openProxy(ctx, o, "", c.allowed); err != nil {
		return nil, err
	}
	s.log = s.server.Log
	if err := s.openKeys(); err != nil {
		return nil, err
	}
	if err := s.openShown(ctx, c, o); err != nil {
		return nil, err
	}
	if c.none {
		err = s.openTrail(ctx, c, tools.auditDays)
	} else {
		err = s.openHands(ctx, c, root, tools)
	}
	if err != nil {
		return nil, err
	}
	return s, s.openHub(ctx, c, tools.rate)
}

// openKeys makes the tokens of this process, and reads what logins are proved by.
func (s *site) openKeys() (err error) {
	if s.pages, err = tokenfile.LoginSecret(s.state); err != nil {
		return err
	}
	s.keys = tokenfile.NewKeyring(s.state, s.log)
	if s.person, err = s.keys.Make("who started stet", gateway.Persons, ""); err != nil {
		return err
	}
	s.agent, err = s.keys.Make("agent of this machine", gateway.Agents, "")
	return err
}

// openShown opens what the UI shows besides questions and the trail.
func (s *site) openShown(ctx context.Context, c *serveCommand, o *config.Config) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := sqlite.OpenSessions(opening, c.trailFile())
	if err != nil {
		return err
	}
	s.sessions = &session.Hub{Store: store, Poll: time.Second} // other processes write to it too
	if s.models, err = c.models(o.Prices); err != nil {
		return err
	}
	s.config = o
	s.compact, err = c.compacting(s.sessions)
	return err
}

// openHub makes the gateway, and what the port has.
func (s *site) openHub(ctx context.Context, c *serveCommand, rate int) (err error) {
	s.hub, err = gateway.New(gateway.Config{
		Authority: s.keys, Queue: s.queue, Journal: s.journal, AllowedHosts: c.allowed,
		Limits: gateway.Limits{Rate: rate}, Memory: c.memory.part(answerShare), Version: version(), Log: s.log,
	})
	if err != nil {
		return err
	}
	s.remotes = &remotes{hub: s.hub, keys: s.keys, allowed: c.allowed, log: s.log}
	if s.hands != nil {
		s.joinHub(ctx)
	}
	streams, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.streams = stop
	s.server.HTTP = &http.Server{
		Handler:           gateway.OneSlash(c.proxies.behind(s.routes(streams, c.allowed))),
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: idle, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.absolute(c.cert), c.absolute(c.key))
		if err != nil {
			return misconfigured(fmt.Errorf("--tls-cert, --tls-key: %w", err))
		}
		s.server.HTTP.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	return nil
}

// openTrail opens the audit trail where no workspace does.
func (s *site) openTrail(ctx context.Context, c *serveCommand, days int) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.trail, err = sqlite.Open(opening, c.trailFile()); err != nil {
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
func (s *site) openHands(ctx context.Context, c *serveCommand, root string, o *toolOptions) (err error) {
	if s.hands, err = c.openHands(ctx, root, o); err != nil {
		return err
	}
	s.hands.memory = c.memory.part(callShare)
	if s.hands.queue != nil {
		s.hands.queue.Bytes = s.queue.Bytes
	}
	s.queue, s.journal = s.hands.queue, s.hands.handler.Journal
	s.hands.handler.Approver = gateway.Relay{Next: s.hands.handler.Approver}
	s.mcp, err = s.hands.server(mcpConfig{http: mcpserver.HTTP{
		AllowedHosts: c.allowed, Allow: func(token string) bool { return s.keys.Lets(token, s.name) },
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
