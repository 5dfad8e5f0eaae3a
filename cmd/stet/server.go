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

	"github.com/stet-dev/stet/proxy"
	"github.com/stet-dev/stet/record"
)

// server is a proxy that listens.
type server struct {
	base  string // "http://127.0.0.1:4141"
	store record.Store
	proxy *proxy.Proxy
	http  *http.Server
	log   io.Closer
	done  chan error // what ended Serve
}

// serve starts the proxy on listener. root is the workspace, empty if it is
// to be learned from the requests. allowed are the host names, besides those
// of the loopback, under which it may be asked.
func (p *program) serve(ctx context.Context, o *options, listener net.Listener, root string, allowed []string) (*server, error) {
	logger, logFile, err := p.openLog(o)
	if err != nil {
		return nil, err
	}
	store, note := p.openStore(ctx, o)
	if note != "" {
		p.say("%s", note)
	}
	prx, err := proxy.New(proxy.Config{
		Upstreams: o.Upstream, History: o.history(root), Observe: o.Observe,
		AllowedHosts: allowed, Store: store, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(misconfigured(err), store.Close(), logFile.Close())
	}
	s := &server{
		base: "http://" + listener.Addr().String(), store: store, proxy: prx, log: logFile, done: make(chan error, 1),
		http: &http.Server{
			Handler: prx, ReadHeaderTimeout: 30 * time.Second,
			ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		},
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// close stops listening, lets the requests in flight end for at most grace,
// and returns what the run came to.
func (s *server) close(ctx context.Context, grace time.Duration) (summary, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // the rest is cut off
	}
	<-s.done
	// The requests that were cut off still have to be written down.
	settle, cancelSettle := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelSettle()
	err := s.proxy.Close(settle)
	sum, readErr := summarise(settle, s.store)
	return sum, errors.Join(err, readErr, s.store.Close(), s.log.Close())
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
