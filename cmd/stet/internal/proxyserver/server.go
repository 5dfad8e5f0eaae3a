// Package proxyserver runs the proxy as a server: with its listener, its store of
// requests and its log, and with an orderly end.
package proxyserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/server/connect"
	"github.com/stet-dev/stet/server/proxy"
)

// writeWait is how long storing the last requests may take.
const writeWait = 3 * time.Second

// requestShare is the part of the memory for the newest requests. The rest is for running requests and for garbage between two
// collections.
const requestShare = 0.45

// Config configures a Server.
type Config struct {
	Settings *config.Config
	Root     string   // the workspace; empty: learned from the requests
	Hosts    []string // names, besides those of the loopback, under which it may be asked
	Store    string   // address of the store of requests, as in store.Open; empty: no home for one
	Log      string   // file of the log; empty: none
	Models   *prices.Catalog
	State    string       // the state directory, with the key of the holdout; empty: there is no holdout
	Guard    http.Handler // of the paths below /guard/; nil: none
	// Transport reaches the upstreams; nil: the proxy's own, with the root certificates Roots; nil: the system's.
	Transport http.RoundTripper
	Roots     *x509.CertPool
	// Agents returns the upstreams of an agent with its own upstreams; nil: no agent has its own.
	Agents func(name string) (llm.Upstreams, error)
	// Forward configures the forward proxy that the listener is too. It is called for the first CONNECT, and a day later again. nil: CONNECT is refused.
	Forward func() (Forward, error)
	// Say tells the person something.
	Say func(format string, args ...any)
}

// Server is a proxy with its listener.
type Server struct {
	Base  string // "http://127.0.0.1:4141"
	Proxy *proxy.Proxy
	HTTP  *http.Server // the HTTP server; its handler is the proxy, or contains it
	Log   *slog.Logger
	Ended chan struct{} // closed when it no longer listens

	settings   *config.Config
	address    atomic.Pointer[net.TCPAddr] // where it listens; nil: nowhere yet
	mu         sync.Mutex
	forward    *connect.Proxy // nil: there was no CONNECT
	configured time.Time      // when forward was
	closed     bool
	store      *watchedStore
	logFile    io.Closer
	err        error // why it ended by itself; valid when Ended is closed
}

// Open makes a proxy that does not listen yet. HTTP may be replaced before Serve.
func Open(ctx context.Context, c Config) (*Server, error) {
	log, logFile, err := config.OpenLog(c.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{store: &watchedStore{}, Log: log, logFile: logFile, settings: c.Settings, Ended: make(chan struct{})}
	o := c.Settings
	pc := proxy.Config{
		Upstreams: o.Upstream, History: o.History(c.Root), Prices: c.Models, Observe: o.Observe,
		RefuseThreads: o.Threads == config.RefuseThreads, KeepResults: !o.Clear, Transport: c.Transport,
		AllowedHosts: c.Hosts, Agents: c.Agents, Logger: log, Memory: int64(requestShare * float64(o.ProxyMemory<<20)),
		Keep: proxy.Keep{For: time.Duration(o.RecordDays) * 24 * time.Hour},
	}
	if c.Transport == nil {
		t := proxy.NewTransport()
		t.Proxy, t.TLSClientConfig = s.notThroughItself, &tls.Config{RootCAs: c.Roots}
		t.DialContext, t.OnProxyConnectResponse = s.notToItself(t.DialContext), connect.ProxyRefuses
		pc.Transport = t
	}
	pc.Caps = proxy.Caps{Conversation: proxy.Amount(o.Limits.Conversation), Tree: proxy.Amount(o.Limits.Tree), Day: proxy.Amount(o.Limits.Day), Hard: o.Limits.Hard}
	pc.Tell = o.Notify.Teller(log)
	if o.Holdout > 0 && c.State != "" {
		if pc.Holdout, err = holdout(c.State, o.Holdout); err != nil {
			return nil, errors.Join(err, logFile.Close())
		}
	}
	if o.RecordDays == 0 {
		pc.Keep.For = -1
	}
	if o.Record {
		store, note := openStore(ctx, c.Store)
		if note != "" {
			c.Say("%s", note)
		}
		if s.store.Store = store; store != nil {
			pc.Store = s.store
		}
	}
	if s.Proxy, err = proxy.New(pc); err != nil {
		return nil, errors.Join(err, s.store.Close(), logFile.Close())
	}
	handler := c.handler(s.Proxy)
	if c.Forward != nil {
		plain := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodConnect {
				plain.ServeHTTP(w, r)
				return
			}
			forward, err := s.forwarding(c.Forward)
			if err != nil {
				log.Error("no forward proxy", "error", err)
				http.Error(w, "stet: "+err.Error(), http.StatusInternalServerError)
				return
			}
			forward.ServeHTTP(w, r)
		})
	}
	s.HTTP = &http.Server{
		Handler: handler, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// notToItself is dial for upstreams. It refuses a connection to this server: each request would be sent on to it for ever.
func (s *Server) notToItself(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if to, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !s.listensAt(to.IP, to.Port) {
			return conn, nil
		}
		return nil, errors.Join(fmt.Errorf("%s is this proxy itself: name the address of the model's server as the upstream", address), conn.Close())
	}
}

// notThroughItself is http.ProxyFromEnvironment without this server: an agent's shell may name it as the HTTP proxy.
func (s *Server) notThroughItself(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	own := s.address.Load()
	if err != nil || u == nil || own == nil || u.Port() != strconv.Itoa(own.Port) {
		return u, err
	}
	all, _ := net.DefaultResolver.LookupIPAddr(r.Context(), u.Hostname()) // a name without an address fails when it is asked
	if slices.ContainsFunc(all, func(a net.IPAddr) bool { return s.listensAt(a.IP, own.Port) }) {
		return nil, nil
	}
	return u, nil
}

// listensAt reports whether this server listens at an address.
func (s *Server) listensAt(ip net.IP, port int) bool {
	own := s.address.Load()
	if own == nil || port != own.Port || !own.IP.IsUnspecified() {
		return own != nil && port == own.Port && ip.Equal(own.IP)
	}
	all, _ := net.InterfaceAddrs() // without them the loopback is left
	return ip.IsLoopback() || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// renewAfter is how old the configuration of the forward proxy may be: its authority ends some time.
const renewAfter = 24 * time.Hour

// forwarding returns the forward proxy. The first call makes it.
func (s *Server) forwarding(configured func() (Forward, error)) (*connect.Proxy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the proxy is ending")
	}
	if s.forward != nil && time.Since(s.configured) < renewAfter {
		return s.forward, nil
	}
	f, err := configured()
	switch {
	case err != nil && s.forward == nil:
		return nil, err
	case err != nil:
		s.Log.Error("the authority is not renewed", "error", err)
	case s.forward == nil:
		f.Logger, f.proxy = s.Log, s.notThroughItself
		s.forward = f.InProcess(s.Proxy)
	default:
		s.forward.Renew(f.Authority)
	}
	s.configured = time.Now()
	return s.forward, nil
}

// handler returns what serves requests: the proxy, and the guard next to it.
func (c Config) handler(p *proxy.Proxy) http.Handler {
	if c.Guard == nil {
		return p
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/guard/") {
			c.Guard.ServeHTTP(w, r)
			return
		}
		p.ServeHTTP(w, r)
	})
}

// Serve listens, over TLS where HTTP has a certificate. It does not wait.
func (s *Server) Serve(listener net.Listener) {
	scheme, serve := "http://", func() error { return s.HTTP.Serve(listener) }
	if s.HTTP.TLSConfig != nil {
		scheme, serve = "https://", func() error { return s.HTTP.ServeTLS(listener, "", "") }
	}
	s.Base = scheme + listener.Addr().String()
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		s.address.Store(address)
	}
	go func() {
		defer close(s.Ended)
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("listen on %s: %w", listener.Addr(), err)
		}
	}()
}

// Summary returns the totals of the requests.
func (s *Server) Summary() report.Summary {
	return report.Summary{Totals: s.Proxy.Totals(), Policy: s.settings.Policy, Observe: s.settings.Observe}
}

// Close stops listening, and lets running requests end for at most grace or until ctx ends. It cuts off the rest, and waits until
// everything is stored. It returns the error that ended the server before, or what is missing in the store.
func (s *Server) Close(ctx context.Context, grace time.Duration) error {
	if s.Base != "" { // it listens
		draining, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := s.HTTP.Shutdown(draining); err != nil {
			_ = s.HTTP.Close() // the rest is cut off
		}
		<-s.Ended
	}
	s.mu.Lock()
	forward := s.forward
	s.closed = true
	s.mu.Unlock()
	if forward != nil {
		forward.Close()
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	if err := s.Proxy.Close(writing); err != nil {
		// The store is still in use, and goes with the process.
		return errors.Join(s.err, fmt.Errorf("the record is not complete: %w", err), s.logFile.Close())
	}
	return errors.Join(s.err, s.store.failure(), s.store.Close(), s.logFile.Close())
}
