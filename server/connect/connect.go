// Package connect is a forward proxy for the programs of one user: it answers CONNECT. TLS to a few named hosts is opened, so that the
// requests for a model can be served by a handler; all other requests to these hosts pass on as they came. Every other host
// gets a blind tunnel.
//
// An opened connection has a certificate of an Authority, which the program must trust. If the program refuses it, its later
// connections pass as blind tunnels.
//
// No tunnel leads to this machine, to an address of a private network, or to a port without TLS, unless Config.Direct or the person's own
// HTTP proxy says otherwise. A name may lead into a private network. A target that is refused is answered with 403 and the reason.
package connect

import (
	"context"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what a client may cause.
const (
	maxTunnels  = 2048
	maxRefusals = 20               // targets that are remembered as refused
	firstBytes  = 30 * time.Second // until TLS begins, and for its handshake
)

// Config configures a Proxy.
type Config struct {
	// Hosts are the hosts whose TLS is opened, at port 443. Their functions report whether a request is for a model.
	Hosts map[string]func(*http.Request) bool
	// Model serves the requests for a model. The URL of each is absolute, and its Host is the one that the client sent.
	Model     http.Handler
	Authority *Authority

	// Password is the one that clients give in the address of the proxy; empty: they need none.
	Password string
	// Proxy returns the person's own HTTP proxy for a request; nil: that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// Direct reports whether the person named a host as one that is reached without a proxy. Then it may have any address. nil: none.
	Direct  func(host string) bool
	RootCAs *x509.CertPool // of hosts and of an HTTP proxy with TLS; nil: the system's
	Logger  *slog.Logger   // nil discards
}

// Proxy answers CONNECT. It may be used concurrently. After use it must be closed.
type Proxy struct {
	config Config
	pass   *httputil.ReverseProxy
	opened *http.Server
	queue  *queue
	base   context.Context // ends with Close
	end    context.CancelFunc

	mu        sync.Mutex
	conns     map[net.Conn]bool // of running tunnels, both ends, and opened ones
	tunnels   int               // and opened connections
	most      int               // tunnels
	noted     map[string]string // what did not go through stet: why
	strangers map[string]bool   // fingerprints of programs: they refuse the authority, or not
	fronts    []*http.Server    // of Serve
	closing   bool
	work      sync.WaitGroup
}

// New returns a proxy.
func New(c Config) *Proxy {
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{config: c, queue: newQueue(), conns: map[net.Conn]bool{}, most: maxTunnels, noted: map[string]string{}, strangers: map[string]bool{}}
	p.base, p.end = context.WithCancel(context.Background())
	p.pass = newPass(c)
	p.opened = p.newOpened()
	p.work.Go(func() { _ = p.opened.Serve(p.queue) }) // it ends with Close
	return p
}

// Renew replaces the authority. Connections that are open go on.
func (p *Proxy) Renew(a *Authority) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config.Authority = a
}

func (p *Proxy) authority() *Authority {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config.Authority
}

// Serve answers the requests that come to a listener, until Close. It does not wait. After Close it closes the listener.
func (p *Proxy) Serve(l net.Listener) {
	front := &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		_ = l.Close()
		return
	}
	p.fronts = append(p.fronts, front)
	p.work.Go(func() { _ = front.Serve(l) }) // it ends with Close
}

// ServeHTTP answers CONNECT, and refuses everything else.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		w.Header().Set("Allow", http.MethodConnect)
		http.Error(w, "stet: this address is a proxy for HTTPS and takes only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	if !p.knows(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="stet"`) // some clients give the password only when they are asked
		http.Error(w, "stet: this proxy serves one agent and its programs: use the HTTPS_PROXY that stet gave them", http.StatusProxyAuthRequired)
		return
	}
	if !p.enter() {
		http.Error(w, "stet: the proxy is ending", http.StatusServiceUnavailable)
		return
	}
	defer p.work.Done()
	if !p.take() {
		http.Error(w, "stet: the proxy has too many tunnels", http.StatusServiceUnavailable)
		return
	}
	give := sync.OnceFunc(p.give)
	if p.connect(w, r, give) {
		give()
	}
}

// connect makes the tunnel of a CONNECT. It returns when the tunnel has ended, or false when the connection was opened and will call give at its end.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, give func()) (ended bool) {
	host, port, err := checkTarget(r.Host)
	if err != nil {
		p.refuse(w, r.Host, err)
		return true
	}
	if name := nameOf(host); p.config.Hosts[name] != nil && port == 443 {
		client := p.accept(w)
		return client == nil || p.open(client, name, give)
	}
	upstream, err := p.dial(r.Context(), host, port)
	if err != nil {
		p.refuse(w, r.Host, err)
		return true
	}
	if client := p.accept(w); client != nil {
		p.tunnel(client, upstream, nil)
	} else {
		_ = upstream.Close()
	}
	return true
}

// nameOf returns the name of a host as Config.Hosts has it.
func nameOf(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// take counts a tunnel, unless there are too many. If it returns true, the caller must call give at the end.
func (p *Proxy) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tunnels >= p.most {
		return false
	}
	p.tunnels++
	return true
}

func (p *Proxy) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tunnels--
}

// knows reports whether a client gives the password.
func (p *Proxy) knows(r *http.Request) bool {
	_, given, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	return subtle.ConstantTimeCompare([]byte(given), []byte(p.config.Password)) == 1 || p.config.Password == ""
}

// enter counts work, unless the proxy ends. If it returns true, the caller must call work.Done at the end.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	p.work.Add(1)
	return true
}

// refuse answers a CONNECT that leads nowhere, with the reason.
func (p *Proxy) refuse(w http.ResponseWriter, target string, err error) {
	status, why := http.StatusBadGateway, err.Error()
	if refused, ok := errors.AsType[*refusal](err); ok {
		status, why = http.StatusForbidden, refused.why
		p.note("no tunnel to "+target, why, maxRefusals)
	}
	p.config.Logger.Warn("no tunnel", "target", target, "error", why)
	http.Error(w, fmt.Sprintf("stet: no tunnel to %s: %s", target, why), status)
}

// note remembers what did not go through stet, for Refused, unless it has so many notes that most says.
func (p *Proxy) note(what, why string, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.noted[what]; (known || len(p.noted) < most) && len(what) < 300 {
		p.noted[what] = why
	}
}

// notePassed remembers that programs reached one of Config.Hosts past the authority.
func (p *Proxy) notePassed(host, why string) {
	p.note("requests to "+host+" passed without stet", why, maxRefusals+len(p.config.Hosts))
}

// Refused returns the targets that were refused and the hosts that programs reached past the authority, with the reasons, in order, for people.
func (p *Proxy) Refused() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(p.noted)) {
		all = append(all, what+": "+p.noted[what])
	}
	return all
}

// accept answers that the tunnel is there, and takes the connection over. It returns nil if the client is gone.
func (p *Proxy) accept(w http.ResponseWriter) net.Conn {
	conn, read, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	_ = conn.SetDeadline(time.Time{}) // a connection that cannot be written to fails below
	if n := read.Reader.Buffered(); n > 0 {
		early, _ := read.Reader.Peek(n) // they are there
		conn = &replayed{Conn: conn, first: slices.Clone(early)}
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil
	}
	return conn
}

// tunnel copies between client and upstream until both have ended, and closes them. sent was already read from the client; nil: nothing
// was read, and TLS has to begin.
func (p *Proxy) tunnel(client, upstream net.Conn, sent []byte) {
	if !p.hold(client, upstream) {
		return
	}
	defer p.drop(client, upstream)
	if sent == nil {
		var err error
		if sent, err = beginsTLS(client); err != nil {
			p.config.Logger.Warn("a tunnel was closed", "error", err)
			return
		}
	}
	var copies sync.WaitGroup
	copies.Go(func() {
		if _, err := upstream.Write(sent); err == nil {
			_, _ = io.Copy(upstream, client) // either end may break off; the other one then sees its end
		}
		closeWrite(upstream)
	})
	copies.Go(func() {
		_, _ = io.Copy(client, upstream)
		closeWrite(client)
	})
	copies.Wait()
}

// beginsTLS reads the first bytes of a client, and returns them if they begin a TLS handshake.
func beginsTLS(client net.Conn) ([]byte, error) {
	_ = client.SetReadDeadline(time.Now().Add(firstBytes)) // an error shows in the read
	first := make([]byte, 3)
	if _, err := io.ReadFull(client, first); err != nil {
		return nil, fmt.Errorf("the client sent no TLS handshake: %w", err)
	}
	if first[0] != 22 || first[1] != 3 {
		return nil, errors.New("what the client sent is not TLS")
	}
	return first, client.SetReadDeadline(time.Time{})
}

// closeWrite ends one direction of a connection; it closes the connection if it has no directions.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it may be closed already
		return
	}
	_ = c.Close()
}

// hold makes Close close these connections. If the proxy ends already, it closes them and returns false.
func (p *Proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closing {
			_ = c.Close()
			continue
		}
		p.conns[c] = true
	}
	return !p.closing
}

// drop closes connections that hold holds.
func (p *Proxy) drop(conns ...net.Conn) {
	for _, c := range conns {
		_ = c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}
}

// Close closes all connections, and waits until their work has ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closing = true
	servers := append(p.fronts, p.opened)
	p.mu.Unlock()
	p.end()
	_ = p.queue.Close()
	for _, s := range servers {
		_ = s.Close() // TLS ends in opened connections; a connection that the server takes over only now it leaves open
	}
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	transports := p.pass.Transport.(byVersion) // as newPass has made it
	transports.one.CloseIdleConnections()
	transports.two.CloseIdleConnections()
}
