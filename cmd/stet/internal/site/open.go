package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/socket"
	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/mcpserver"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
)

// Open makes the site without listening yet.
func Open(ctx context.Context, c Config) (_ *Site, err error) {
	s := &Site{config: c, Queue: &approval.Queue{Bytes: c.QuestionBytes}, join: func() {}, streams: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	s.config.Tools.Dedupe = false // it is for one client, but over HTTP several clients may share a session
	if s.lock, err = lockSite(c.Tools.State); err != nil {
		return nil, err
	}
	if s.Server, err = proxyserver.Open(ctx, c.Proxy); err != nil {
		return nil, &config.Error{Err: err}
	}
	s.Log, s.models = s.Server.Log, c.Proxy.Models
	if err := s.openKeys(); err != nil {
		return nil, err
	}
	if err := s.openSessions(ctx); err != nil {
		return nil, err
	}
	if c.NoWorkspace {
		err = s.openTrail(ctx)
	} else {
		err = s.openTools(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, s.openHub(ctx)
}

// openKeys makes the tokens of this process, and reads the secret for logins.
func (s *Site) openKeys() (err error) {
	if s.secret, err = tokenfile.LoginSecret(s.config.Tools.State); err != nil {
		return err
	}
	s.keys = tokenfile.NewKeyring(s.config.Tools.State, s.Log)
	if s.PersonToken, err = s.keys.Make(approval.LocalPerson(), gateway.Admins, ""); err != nil {
		return err
	}
	s.AgentToken, err = s.keys.Make("agent of this machine", gateway.Agents, "")
	return err
}

// openSessions opens the stored conversations for the UI.
func (s *Site) openSessions(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stored, err := store.OpenSessions(opening, s.config.Tools.Trail)
	if err != nil {
		return err
	}
	s.Sessions = &session.Hub{Store: stored, Poll: time.Second} // other processes write to it too
	s.compact, err = s.config.Compact(s.Sessions)
	return err
}

// limits returns the limits of the gateway. A frame can carry 10 MB of content, whatever a file may have.
func (c *Config) limits() gateway.Limits {
	l := c.Tools.Limits
	return gateway.Limits{Rate: c.Tools.Rate, Content: int(l.Parts), Whole: int(min(l.Read, 10<<20))}
}

// openHub makes the gateway, and the handlers of the port.
func (s *Site) openHub(ctx context.Context) (err error) {
	c := &s.config
	s.hub, err = gateway.New(gateway.Config{
		Authority: s.keys, Bus: c.Bus, Queue: s.Queue, Journal: s.journal, AllowedHosts: c.Hosts,
		Limits: c.limits(), Memory: c.Answers, Held: c.Held, Tokens: &s.tokens, Version: c.Version, Log: s.Log,
	})
	if err != nil {
		return err
	}
	s.remotes = &remotes{hub: s.hub, keys: s.keys, allowed: c.Hosts, held: c.Held, several: c.Bus != nil, version: c.Version, log: s.Log}
	if s.Tools != nil {
		s.joinHub(ctx)
	}
	if c.Accounts.Issuer != "" {
		refused := func(r *http.Request, _ string) { s.hub.Refused(r, "a login with an account elsewhere failed") }
		if s.signIn, err = openSignIn(ctx, c.Accounts, s.Log, refused); err != nil {
			return &config.Error{Err: err}
		}
	}
	secure, err := s.openTLS()
	if err != nil {
		return &config.Error{Err: err}
	}
	streams, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.streams = stop
	s.guards.Go(func() { socket.MirrorGuards(streams, s.config.Tools.State, s.Queue, s.Log) })
	s.Server.HTTP = &http.Server{
		Handler:           gateway.OneSlash(c.Proxies.after(s.routes(streams, c.Hosts))),
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug), TLSConfig: secure,
	}
	return nil
}

// openTrail opens the audit trail if there is no workspace, which would open it.
func (s *Site) openTrail(ctx context.Context) (err error) {
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.trail, err = store.Open(opening, s.config.Tools.Trail); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	s.journal = &record.Journal{Trail: s.trail, Log: s.Log}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.unkeep = stop
	s.keeping.Go(func() { s.config.Tools.Notify.Follow(keeping, s.Queue, false, s.secret, s.Log) })
	s.keeping.Go(func() { toolset.KeepTrail(keeping, s.trail, s.config.Tools.AuditDays, s.Log) })
	return nil
}

// openTools opens the workspace. The person who decides is asked in the UI, in the client if policy allows that, or by "stet
// approve".
func (s *Site) openTools(ctx context.Context) (err error) {
	options := s.config.Tools
	options.Secret = s.secret
	s.config.Tools.LogFile = nil // the set closes it
	if s.Tools, err = toolset.Open(ctx, s.config.Root, options); err != nil {
		return err
	}
	s.Tools.Memory = s.config.Calls
	if s.Tools.Queue != nil {
		s.Tools.Queue.Bytes = s.Queue.Bytes
	}
	s.Queue, s.journal = s.Tools.Queue, s.Tools.Handler.Journal
	s.Tools.Handler.Approver = gateway.Relay{Next: s.Tools.Handler.Approver}
	s.Tools.Handler.Tokens = &s.tokens
	s.mcp, err = s.Tools.Server(mcpserver.HTTP{
		AllowedHosts: s.config.Hosts, Allow: s.keys.Allow(s.config.Name), Held: s.config.Held,
	})
	return err
}

// joinHub connects the workspace to the gateway, and waits until calls reach it. Otherwise a call that comes as soon as the address
// is known would fail.
func (s *Site) joinHub(ctx context.Context) {
	joining, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.join = cancel
	joined, once := make(chan struct{}), new(sync.Once)
	host := &gateway.Host{
		Workspace: s.config.Name, Caller: s.Tools.Handler, Stage: s.Tools.Files.Stage, Remembers: true, Log: s.Log,
		End:       s.Tools.End,
		Connected: func(string) { once.Do(func() { close(joined) }) },
	}
	ended := make(chan struct{})
	s.joined.Go(func() {
		defer close(ended)
		if err := s.hub.Join(joining, host); err != nil {
			s.Log.Error("workspace", "err", err)
		}
	})
	select {
	case <-joined:
	case <-ended:
	case <-ctx.Done():
	}
}

// WorkspaceName returns the name of a workspace: the given one, or one made from the directory's name.
func WorkspaceName(given, root string) (string, error) {
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
		return "", fmt.Errorf("--workspace: want up to 64 letters, digits, dots, - and _, not %q", name)
	}
	return name, nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// lockSite locks the state directory for this stet serve. A second one would ask other people, with other tokens, about the same
// files. The lock ends with the process, also if it is killed.
func lockSite(state string) (io.Closer, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, &config.Error{Err: config.StateError(err)}
	}
	lock := flock.New(filepath.Join(state, "serve-lock"), flock.SetPermissions(0o600))
	mine, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, &config.Error{Err: config.StateError(err)}
	case !mine:
		return nil, fmt.Errorf("another stet serve is running with the state directory %s: stop it, "+
			"give it this workspace by \"stet host\", or set XDG_STATE_HOME to another directory", state)
	}
	return lock, nil
}
