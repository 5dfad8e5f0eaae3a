package connect

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxStrangers is how many programs are remembered that refuse the authority.
const maxStrangers = 256

// protocols are those that an opened connection may speak.
var protocols = []string{"h2", "http/1.1"}

// open answers the TLS handshake of a client in place of host, and queues the connection for requests. It passes blindly what it cannot
// open: connections to another name, with another protocol, or of programs that refused the authority before. It returns false if the connection
// goes on after it, and then calls give at its end.
func (p *Proxy) open(client net.Conn, host string, give func()) (ended bool) {
	if !p.hold(client) {
		return true
	}
	heard := &replayed{Conn: client, record: true}
	program, blind := "", ""
	own := &opened{replayed: heard, host: host}
	conn := tls.Server(own, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			program = fingerprint(hello)
			if blind = p.passesBlindly(hello, host, program); blind != "" {
				return nil, errors.New("not opened") // it becomes a blind tunnel
			}
			heard.record, heard.heard = false, nil
			return nil, nil
		},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.authority().leaf(host) },
	})
	ctx, cancel := context.WithTimeout(p.base, firstBytes)
	defer cancel()
	err := conn.HandshakeContext(ctx)
	var remote *net.OpError
	switch {
	case blind != "":
		p.notePassed(host, blind)
		p.passBlindly(client, host, heard.heard)
		return true
	case err == nil:
		p.meet(program, false)
		if !p.enter() {
			break
		}
		own.end = sync.OnceFunc(func() {
			p.drop(client)
			give()
			p.work.Done()
		})
		if p.queue.put(conn) {
			return false
		}
		p.work.Done()
	case errors.As(err, &remote) && remote.Op == "remote error":
		p.meet(program, true)
		p.notePassed(host, stranger)
		p.config.Logger.Warn("a program does not trust stet's authority: its next connections pass as they are", "host", host, "error", err)
	}
	p.drop(client)
	return true
}

// stranger is why the connections of a program that refuses the authority pass.
const stranger = "a program does not trust stet's authority, or pins certificates; with --via base-url it may go through stet"

// meet remembers whether a program refuses the authority. The first time counts: an agent that has trusted it once is not passed later, because
// another program looks like it. Its provider could refuse the conversation that stet has shortened.
func (p *Proxy) meet(program string, refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.strangers[program]; !known && len(p.strangers) < maxStrangers {
		p.strangers[program] = refuses
	}
}

// passesBlindly returns why a connection is not opened; "": it is.
func (p *Proxy) passesBlindly(hello *tls.ClientHelloInfo, host, program string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	spoken := func(name string) bool { return slices.Contains(protocols, name) }
	switch {
	case p.strangers[program]:
		return stranger
	case hello.ServerName != "" && !strings.EqualFold(hello.ServerName, host):
		return "a program named another host inside of the connection"
	case len(hello.SupportedProtos) > 0 && !slices.ContainsFunc(hello.SupportedProtos, spoken):
		return "a program wants another protocol than HTTP"
	}
	return ""
}

// passBlindly makes a blind tunnel of a connection from which sent was already read.
func (p *Proxy) passBlindly(client net.Conn, host string, sent []byte) {
	upstream, err := p.dial(p.base, host, 443)
	if err != nil {
		p.config.Logger.Warn("no tunnel", "target", host, "error", err)
		p.drop(client)
		return
	}
	p.tunnel(client, upstream, sent)
}

// fingerprint is the same for all connections of a program to all hosts: it is made of what its TLS library offers.
func fingerprint(h *tls.ClientHelloInfo) string {
	extensions := slices.DeleteFunc(slices.Clone(h.Extensions), func(e uint16) bool { return e&0x0f0f == 0x0a0a || e == 41 || e == 21 }) // random ones, resumption, padding
	suites := slices.DeleteFunc(slices.Clone(h.CipherSuites), func(s uint16) bool { return s&0x0f0f == 0x0a0a })
	slices.Sort(extensions) // some libraries shuffle them
	sum := sha256.Sum256(fmt.Append(nil, extensions, suites, h.SignatureSchemes, h.SupportedProtos))
	return string(sum[:])
}

// newOpened returns the server of opened connections.
func (p *Proxy) newOpened() *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(p.serveOpened), TLSConfig: &tls.Config{NextProtos: protocols}, // so that it speaks HTTP/2
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		HTTP2:       &http.HTTP2Config{MaxReceiveBufferPerConnection: 4<<20 - 1, MaxReceiveBufferPerStream: 256 << 10}, // so that a body that nobody reads leaves room for others
		BaseContext: func(net.Listener) context.Context { return p.base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, hostKey{}, c.(*tls.Conn).NetConn().(*opened).host) // as open has queued it
		},
		ErrorLog: slog.NewLogLogger(p.config.Logger.Handler(), slog.LevelDebug),
	}
}

type hostKey struct{}

// serveOpened serves a request on an opened connection.
func (p *Proxy) serveOpened(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return
	}
	defer p.work.Done()
	sent := &body{}
	if r.Body != http.NoBody {
		sent = &body{ReadCloser: r.Body, left: r.ContentLength}
		if r.ProtoMajor == 2 {
			sent.answer = http.NewResponseController(w)
		}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, sent)) // the server looks at its own one when it answers
		r.Body = sent
	}
	host := r.Context().Value(hostKey{}).(string)
	r.URL.Scheme, r.URL.Host = "https", host
	if named := nameOf(strings.TrimSuffix(r.Host, ":443")); named == host && p.config.Hosts[host](r) {
		p.config.Model.ServeHTTP(w, r)
	} else {
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil // what the host does not say about its answer is not added
		p.pass.ServeHTTP(w, r)
	}
	sent.rest()
}

// forwarding are headers of the client that ReverseProxy removes.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// newPass returns the handler that sends requests on as they came, in the same version of HTTP.
func newPass(c Config) *httputil.ReverseProxy {
	transport := func(versions func(*http.Protocols)) *http.Transport {
		t := &http.Transport{
			Proxy: c.Proxy, TLSClientConfig: &tls.Config{RootCAs: c.RootCAs}, TLSHandshakeTimeout: 10 * time.Second,
			DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, IdleConnTimeout: 90 * time.Second, ExpectContinueTimeout: time.Second,
			DisableCompression: true, Protocols: new(http.Protocols), OnProxyConnectResponse: ProxyRefuses,
		}
		versions(t.Protocols)
		return t
	}
	one := transport(func(v *http.Protocols) { v.SetHTTP1(true) })
	two := transport(func(v *http.Protocols) { v.SetHTTP1(true); v.SetHTTP2(true) })
	return Pass(byVersion{one, two}, c.Logger, func(r *http.Request) {}, func(host string, err error) string {
		return fmt.Sprintf("no answer from https://%s: %v", host, err)
	})
}

// Pass returns a handler that sends requests on as they came, with every header. aim says where each goes, and said what the client reads
// with the status 502 if no answer comes.
func Pass(t http.RoundTripper, log *slog.Logger, aim func(*http.Request), said func(host string, err error) string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: t, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *r.In.URL
			r.Out.URL, r.Out.Host, r.Out.Trailer = &to, r.In.Host, r.In.Trailer // trailers come at the end of the body
			for _, name := range forwarding {
				if v, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = v
				}
			}
			aim(r.Out)
		},
		ModifyResponse: func(r *http.Response) error {
			if sent, ok := r.Request.Context().Value(bodyKey{}).(*body); ok && r.StatusCode != http.StatusSwitchingProtocols {
				r.Body = &answered{r.Body, sent}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.Warn("no answer", "host", r.URL.Host, "error", err)
			delete(w.Header(), "Content-Type")
			http.Error(w, "stet: "+said(r.URL.Host, err), http.StatusBadGateway)
		},
	}
}

// byVersion sends a request in the version of HTTP in which it came.
type byVersion struct{ one, two *http.Transport }

func (t byVersion) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 {
		return t.two.RoundTrip(r)
	}
	return t.one.RoundTrip(r)
}

// opened is the raw connection of a client whose TLS is opened in place of host.
type opened struct {
	*replayed
	host string
	end  func() // called after it is closed; nil before it is queued
}

func (c *opened) Close() error {
	err := c.replayed.Close()
	if c.end != nil {
		c.end()
	}
	return err
}

// replayed is a connection whose first bytes were already read. While it records, it keeps what it reads, and writes nothing.
type replayed struct {
	net.Conn
	first  []byte
	record bool
	heard  []byte
}

func (c *replayed) Read(b []byte) (n int, err error) {
	if len(c.first) > 0 {
		n = copy(b, c.first)
		c.first = c.first[n:]
	} else {
		n, err = c.Conn.Read(b)
	}
	if c.record {
		c.heard = append(c.heard, b[:n]...)
	}
	return n, err
}

func (c *replayed) Write(b []byte) (int, error) {
	if c.record {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// CloseWrite ends the direction to the client.
func (c *replayed) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

// queue is a listener for connections that were accepted elsewhere.
type queue struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newQueue() *queue { return &queue{conns: make(chan net.Conn), done: make(chan struct{})} }

// put hands over a connection. It returns false if the queue is closed.
func (q *queue) put(c net.Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.done:
		return false
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
