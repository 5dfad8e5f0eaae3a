package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/report"
	"github.com/stet-dev/stet/proxy"
)

// writingDown is how long the account of the last requests may take.
const writingDown = 3 * time.Second

// server is a proxy that listens.
type server struct {
	base  string // "http://127.0.0.1:4141"
	store *witness
	proxy *proxy.Proxy
	http  *http.Server
	log   io.Closer
	ended chan struct{} // closed when it listens no more
	err   error         // why, before it was told to; set when ended is closed
}

// serve starts the proxy on listener. root is the workspace, empty if it is
// to be learned from the requests. allowed are the host names, besides those
// of the loopback, under which it may be asked.
func (p *program) serve(ctx context.Context, o *config.Config, listener net.Listener, root string, allowed []string) (*server, error) {
	s, logger, err := p.openProxy(ctx, o, root, allowed)
	if err != nil {
		return nil, err
	}
	s.base = "http://" + listener.Addr().String()
	s.http = &http.Server{
		Handler: s.proxy, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	s.run(func() error { return s.http.Serve(listener) }, listener.Addr())
	return s, nil
}

// run has serve listen on an address.
func (s *server) run(serve func() error, address net.Addr) {
	go func() {
		defer close(s.ended)
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("listen on %s: %w", address, err)
		}
	}()
}

// openProxy makes a proxy that does not listen yet, and what it writes to.
func (p *program) openProxy(ctx context.Context, o *config.Config, root string, allowed []string) (*server, *slog.Logger, error) {
	logger, logFile, err := p.openLog(o.Log)
	if err != nil {
		return nil, nil, err
	}
	models, err := p.models(o.Prices)
	if err != nil {
		return nil, nil, errors.Join(err, logFile.Close())
	}
	store, note := p.openStore(ctx, o)
	if note != "" {
		p.say("%s", note)
	}
	s := &server{store: &witness{Store: store}, log: logFile, ended: make(chan struct{})}
	c := proxy.Config{
		Upstreams: proxy.Upstreams(o.Upstream), History: o.History(root), Prices: models, Observe: o.Observe, AllowedHosts: allowed, Logger: logger,
		Keep: proxy.Keep{For: time.Duration(o.RecordDays) * 24 * time.Hour},
	}
	if o.RecordDays == 0 {
		c.Keep.For = -1
	}
	if store != nil {
		c.Store = s.store
	}
	if s.proxy, err = proxy.New(c); err != nil {
		return nil, nil, errors.Join(misconfigured(err), s.store.Close(), logFile.Close())
	}
	return s, logger, nil
}

// close stops listening, lets the requests in flight end for at most grace or
// until ctx ends, cuts the rest off, and waits until all is written down. Its
// error is what ended the server before, or what is missing in the account.
func (s *server) close(ctx context.Context, grace time.Duration) error {
	draining, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := s.http.Shutdown(draining); err != nil {
		_ = s.http.Close() // the rest is cut off
	}
	<-s.ended
	return errors.Join(s.err, s.writeDown(ctx))
}

// writeDown waits until the account of the requests is written, and lets go of
// it. No request is under way any more.
func (s *server) writeDown(ctx context.Context) error {
	writing, cancelWriting := context.WithTimeout(context.WithoutCancel(ctx), writingDown)
	defer cancelWriting()
	if err := s.proxy.Close(writing); err != nil {
		// The store is in use yet, and goes with the process.
		return errors.Join(fmt.Errorf("the record is not complete: %w", err), s.log.Close())
	}
	return errors.Join(s.store.failure(), s.store.Close(), s.log.Close())
}

// summary is what came of the requests.
func (s *server) summary(o *config.Config) report.Summary {
	return report.Summary{Totals: s.proxy.Totals(), Policy: o.Policy, Observe: o.Observe}
}

// say tells the person something, on standard error.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.err, "stet: "+format+"\n", args...)
}

// loopback reports whether host stands for this machine alone.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// listen opens a port, and says plainly why when it cannot.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is in use, perhaps by another stet: choose another with --listen", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen on %s: permission denied: choose a port above 1023 with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("listen on %s: this machine has no such address", address)
	}
	return nil, fmt.Errorf("listen on %s: %w", address, err)
}
