package connect

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// signer is an authority of a test, for servers.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{key: key, pool: x509.NewCertPool()}
	if s.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	s.pool.AddCert(s.cert)
	return s
}

// sign returns a certificate for a host that ends at a time.
func (s *signer) sign(t *testing.T, host string, ends time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: ends.Add(-48 * time.Hour), NotAfter: ends},
		s.cert, &key.PublicKey, s.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

const (
	modelHost = "model.example.com"
	otherHost = "files.example.net"
)

// rig is a forward proxy behind a person's own HTTP proxy with a password, which leads to servers on this machine.
type rig struct {
	proxy   *Proxy
	url     *url.URL
	trusted *x509.CertPool // the servers' signer and the authority
	hosts   map[string]string
	signer  *signer

	mu   sync.Mutex
	seen []string // targets that the person's own proxy was asked for
	log  strings.Builder
}

// Write adds to what the proxy logs.
func (r *rig) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func newRig(t *testing.T, model http.Handler) *rig {
	t.Helper()
	r := &rig{hosts: map[string]string{}, signer: newSigner(t)}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("me:secret")) {
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
			return
		}
		r.mu.Lock()
		r.seen = append(r.seen, q.Host)
		to, err := net.Dial("tcp", r.hosts[q.Host])
		r.mu.Unlock()
		if err != nil {
			http.Error(w, "no such host", http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); _ = to.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(from, to)
		_, _ = from.Close(), to.Close()
	}))
	t.Cleanup(own.Close)
	through, err := url.Parse(own.URL)
	if err != nil {
		t.Fatal(err)
	}
	through.User = url.UserPassword("me", "secret")
	authority, err := NewAuthority([]string{modelHost}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.proxy = New(Config{
		Hosts: map[string]func(*http.Request) bool{modelHost: func(q *http.Request) bool { return q.URL.Path == "/v1/ask" }},
		Model: model, Authority: authority, Password: "of the clients", Proxy: http.ProxyURL(through), RootCAs: r.signer.pool,
		Logger: slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	t.Cleanup(r.proxy.Close)
	front := httptest.NewServer(r.proxy)
	t.Cleanup(front.Close)
	if r.url, err = url.Parse(front.URL); err != nil {
		t.Fatal(err)
	}
	r.url.User = url.UserPassword("stet", "of the clients")
	r.trusted = x509.NewCertPool()
	r.trusted.AddCert(r.signer.cert)
	r.trusted.AppendCertsFromPEM(authority.Certificate())
	return r
}

// serve serves a handler as a host.
func (r *rig) serve(t *testing.T, host string, cert tls.Certificate, h http.Handler) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts[host+":443"] = s.Listener.Addr().String()
}

// client returns a client behind the forward proxy that trusts a pool.
func (r *rig) client(t *testing.T, pool *x509.CertPool, two bool) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(r.url), TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: two, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// echo answers with the request as it came.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
	w.Header().Set("X-Answer", "yes")
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s\n", r.Proto, r.Method, r.RequestURI, r.Host)
	_ = r.Header.Write(w)
	_, _ = w.Write(body)
})

func ask(t *testing.T, c *http.Client, method, url string, header http.Header, body []byte) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header = header
	resp, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// SAME-3: requests for a model go to the handler, other requests to the same host pass as they came, and other hosts get blind tunnels.
func TestWays(t *testing.T) {
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", two), func(t *testing.T) {
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { fmt.Fprintf(w, "model %s %s", q.URL, q.Proto) }))
			later := time.Now().Add(time.Hour)
			r.serve(t, modelHost, r.signer.sign(t, modelHost, later), echo)
			r.serve(t, otherHost, r.signer.sign(t, otherHost, later), echo)
			c := r.client(t, r.trusted, two)
			if resp, said := ask(t, c, http.MethodPost, "https://"+modelHost+"/v1/ask?a=b", http.Header{}, nil); said != "model https://"+modelHost+"/v1/ask?a=b "+resp.Proto || (resp.ProtoMajor == 2) != two {
				t.Error(resp.Proto, said)
			}
			body := bytes.Repeat([]byte("a body\x00\xff"), 40000)
			header := http.Header{"X-Forwarded-For": {"1.2.3.4"}, "X-Two": {"a", "b"}, "Authorization": {"Bearer x"}, "Te": {"trailers"}}
			const odd = "/v1/ask/%2e%2E//x;y?q=a;b&%zz"
			for _, host := range []string{modelHost, otherHost} {
				straight := &http.Client{Transport: &http.Transport{
					TLSClientConfig: &tls.Config{RootCAs: r.trusted}, ForceAttemptHTTP2: two, DisableCompression: true,
					DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, "tcp", r.hosts[addr])
					},
				}}
				was, want := ask(t, straight, http.MethodPut, "https://"+host+odd, header, body)
				is, have := ask(t, c, http.MethodPut, "https://"+host+odd, header, body)
				if want != have || fmt.Sprint(was.Header, was.Status, was.Proto) != fmt.Sprint(is.Header, is.Status, is.Proto) {
					t.Errorf("%s\n%v %.600s\nbehind the proxy\n%v %.600s", host, was.Header, want, is.Header, have)
				}
				straight.CloseIdleConnections()
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if got := strings.Join(r.seen, " "); got != modelHost+":443 "+otherHost+":443" {
				t.Errorf("the person's own proxy was asked for %s", got)
			}
		})
	}
}

// A WebSocket to a host passes, and one for a model reaches the handler.
func TestWebSockets(t *testing.T) {
	socket := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			c, err := websocket.Accept(w, q, nil)
			if err != nil {
				return
			}
			defer c.CloseNow()
			kind, text, err := c.Read(q.Context())
			if err == nil {
				_ = c.Write(q.Context(), kind, append([]byte(name+" "), text...))
			}
			_, _, _ = c.Read(q.Context())
		})
	}
	r := newRig(t, socket("model"))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), socket("host"))
	for path, want := range map[string]string{"/v1/ask": "model hello", "/v1/other": "host hello"} {
		c, _, err := websocket.Dial(t.Context(), "wss://"+modelHost+path, &websocket.DialOptions{HTTPClient: r.client(t, r.trusted, false)})
		if err != nil {
			t.Fatal(path, err)
		}
		if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, text, err := c.Read(t.Context()); err != nil || string(text) != want {
			t.Errorf("%s: %s %v", path, text, err)
		}
		_ = c.CloseNow()
	}
}

// A body is still open to see its end when the answer has begun (SAME-2).
func TestAnswerBeforeEnd(t *testing.T) {
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n, err := io.ReadFull(q.Body, make([]byte, q.ContentLength))
		_, _ = fmt.Fprint(w, n, " ", err)
		_ = http.NewResponseController(w).Flush()
		_, err = q.Body.Read(make([]byte, 1))
		_, _ = fmt.Fprint(w, " ", err)
	}))
	for _, two := range []bool{false, true} {
		res, err := r.client(t, r.trusted, two).Post("https://"+modelHost+"/v1/ask", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if want := fmt.Sprint(1<<20, " <nil> EOF"); err != nil || string(answer) != want {
			t.Errorf("HTTP/2 %t: %q, %v; want %q", two, answer, err, want)
		}
	}
}

// An answer that does not wait for the rest of the request's body ends, and the next request of the client is answered too. No connection
// panics. (SAME-2)
func TestAnswerWithoutBody(t *testing.T) {
	early := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	})
	behind := httptest.NewServer(early)
	defer behind.Close()
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, &httputil.ReverseProxy{Rewrite: func(q *httputil.ProxyRequest) { q.SetURL(to) }})
	c := r.client(t, r.trusted, false)
	for i := range 40 {
		size := []int{0, 1, 5000, 300_000, 2 << 20}[i%5]
		body := io.Reader(strings.NewReader(strings.Repeat("x", size)))
		if i%2 == 1 {
			body = io.MultiReader(body) // its length is not known
		}
		res, err := c.Post("https://"+modelHost+"/v1/ask", "text/plain", body)
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%d bytes: %d, %q, %v", size, res.StatusCode, text, err)
		}
		_ = res.Body.Close()
	}
	c.CloseIdleConnections()
	r.proxy.Close()
	if log := r.log.String(); strings.Contains(log, "panic") {
		t.Error(log)
	}
}

// Bytes of a tunnel are the same on both ends, also after one end has ended its direction.
func TestTunnelIsByteEqual(t *testing.T) {
	r := newRig(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r.hosts["deep.example.org:8443"] = l.Addr().String()
	sent := make([]byte, 3<<20)
	_, _ = rand.Read(sent)
	copy(sent, []byte{22, 3, 1})
	back := make([]byte, 2<<20)
	_, _ = rand.Read(back)
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c) // until the client ends its direction
		got <- b
		_, _ = c.Write(back)
	}()
	c := connectTo(t, r.url, "deep.example.org:8443")
	defer c.Close()
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(answer, back) || !bytes.Equal(<-got, sent) {
		t.Error("the bytes differ", err, len(answer))
	}
}

// connectTo asks a proxy for a tunnel. It fails unless the answer is 200.
func connectTo(t *testing.T, proxy *url.URL, target string) net.Conn {
	t.Helper()
	c, status, why := tryConnect(t, proxy, target)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", target, status, why)
	}
	return c
}

func tryConnect(t *testing.T, proxy *url.URL, target string) (_ net.Conn, status int, why string) {
	t.Helper()
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := proxy.User.Password()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", target, target, base64.StdEncoding.EncodeToString([]byte("stet:"+password)))
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(target, err)
	}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		why = string(b)
	}
	return c, resp.StatusCode, why
}

// SAME-3: targets that are not for TLS or not public are refused with the reason.
func TestRefusedTargets(t *testing.T) {
	stranger := *newRig(t, nil).url
	for _, user := range []*url.Userinfo{nil, url.UserPassword("stet", "another")} { // a program of another user has no password
		stranger.User = user
		if _, status, why := tryConnect(t, &stranger, modelHost+":443"); status != http.StatusProxyAuthRequired || !strings.Contains(why, "HTTPS_PROXY that stet gave") {
			t.Errorf("%v: %d %s", user, status, why)
		}
	}
	authority, err := NewAuthority([]string{modelHost}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Authority: authority, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, Direct: func(host string) bool { return host == "10.255.255.1" }})
	defer p.Close()
	front := httptest.NewServer(p)
	defer front.Close()
	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"127.0.0.1:443":          "this machine itself",
		"localhost:8443":         "this machine itself",
		"[::1]:443":              "this machine itself",
		"[::ffff:127.0.0.1]:443": "this machine itself",
		"0.0.0.0:443":            "this machine itself",
		"10.1.2.3:443":           "private address",
		"192.168.1.1:8443":       "private address",
		"172.20.0.1:443":         "private address",
		"169.254.169.254:443":    "has the local address",
		"100.64.1.1:443":         "private address",
		"[fd00::1]:443":          "private address",
		"[64:ff9b::a01:203]:443": "private address",
		"[fe80::1]:443":          "has the local address",
		"203.0.113.1:22":         "port 22 is not a TLS port",
		"203.0.113.1:80":         "port 80 is not a TLS port",
		"203.0.113.1:70000":      "the port is not a number",
		"203.0.113.1":            "the target is not HOST:PORT",
	} {
		c, status, why := tryConnect(t, at, target)
		_ = c.Close()
		if status != http.StatusForbidden || !strings.Contains(why, want) {
			t.Errorf("%s: %d %s", target, status, why)
		}
	}
	if len(p.Refused()) != 17 {
		t.Errorf("%q", p.Refused())
	}
	// A plain request is no request for a tunnel.
	resp, err := http.Get(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Error(resp.Status)
	}
}

// A client that does not begin with TLS is cut off.
func TestTunnelsAreTLS(t *testing.T) {
	r := newRig(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r.hosts["mail.example.org:2525"] = l.Addr().String()
	c := connectTo(t, r.url, "mail.example.org:2525")
	defer c.Close()
	if _, err := io.WriteString(c, "EHLO me\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(c); len(b) > 0 {
		t.Errorf("%q", b)
	}
}

// SAME-3: a host whose certificate is foreign, expired or for another host gets no request, and the client reads why.
func TestCertificatesAreChecked(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		cert func(r *rig) tls.Certificate
		want string
	}{
		"foreign": {func(*rig) tls.Certificate { return newSigner(t).sign(t, modelHost, later) }, "unknown authority"},
		"expired": {func(r *rig) tls.Certificate { return r.signer.sign(t, modelHost, time.Now().Add(-time.Hour)) }, "expired"},
		"another": {func(r *rig) tls.Certificate { return r.signer.sign(t, otherHost, later) }, "not " + modelHost},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			asked := false
			r.serve(t, modelHost, test.cert(r), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
			resp, said := ask(t, r.client(t, r.trusted, true), http.MethodGet, "https://"+modelHost+"/api/hello", http.Header{}, nil)
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(said, test.want) || asked {
				t.Errorf("%s %q %t", resp.Status, said, asked)
			}
		})
	}
}

// SAME-3: the authority signs only for its hosts, and certificates live for a day.
func TestAuthorityIsConstrained(t *testing.T) {
	a, err := NewAuthority([]string{modelHost}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for host, want := range map[string]bool{modelHost: true, otherHost: false, "203.0.113.1": false} {
		c, err := a.leaf(host)
		if err != nil {
			t.Fatal(err)
		}
		if ip := net.ParseIP(host); ip != nil {
			forged := &x509.Certificate{SerialNumber: serial(), IPAddresses: []net.IP{ip}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
			der, err := x509.CreateCertificate(rand.Reader, forged, a.cert, &a.leafKey.PublicKey, a.key)
			if err != nil {
				t.Fatal(err)
			}
			if c.Leaf, err = x509.ParseCertificate(der); err != nil {
				t.Fatal(err)
			}
		}
		_, err = c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool})
		if (err == nil) != want {
			t.Errorf("%s: %v", host, err)
		}
		if life := time.Until(c.Leaf.NotAfter); life > leafLife {
			t.Errorf("%s: valid for %s", host, life)
		}
	}
	if !a.Fits([]string{modelHost}) || a.Fits([]string{modelHost, otherHost}) || a.Fits(nil) {
		t.Error("it fits other hosts")
	}
}

// A program that does not trust the authority fails once, and then passes blindly. Others are opened all the same. It is said, however many
// targets were refused before.
func TestStrangersPass(t *testing.T) {
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "model") }))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "host") }))
	for i := range maxRefusals + 1 {
		c, _, _ := tryConnect(t, r.url, fmt.Sprintf("host%d.example:80", i))
		_ = c.Close()
	}
	stranger := r.client(t, r.signer.pool, false)
	if resp, err := stranger.Get("https://" + modelHost + "/v1/ask"); err == nil {
		t.Fatal(resp.Status)
	}
	// The refusal reaches the proxy after the client has its error.
	var said string
	for range 100 {
		resp, err := stranger.Get("https://" + modelHost + "/v1/ask")
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		said = string(b)
		break
	}
	if said != "host" {
		t.Errorf("%q", said)
	}
	if all := r.proxy.Refused(); len(all) != maxRefusals+1 || !strings.Contains(all[maxRefusals], modelHost+" passed without stet: a program does not trust") {
		t.Errorf("%q", all)
	}
	if _, said := ask(t, r.client(t, r.trusted, true), http.MethodPost, "https://"+modelHost+"/v1/ask", http.Header{}, nil); said != "model" {
		t.Errorf("%q", said)
	}
}

// SAME-3: a name may lead into a private network, but not to this machine or to its neighbours; an address says nothing of a name.
func TestNamesInPrivateNetworks(t *testing.T) {
	for at, want := range map[string]string{
		"git.corp.example 10.1.2.3": "", "git.corp.example 192.168.0.9": "", "git.corp.example fd00::1": "", "git.corp.example 100.64.1.1": "", "example.com 203.0.113.1": "",
		"203.0.113.1 203.0.113.1": "", "10.1.2.3 10.1.2.3": "private address", "::ffff:10.1.2.3 ::ffff:10.1.2.3": "private address",
		"rebound.example 127.0.0.1": "this machine itself", "rebound.example ::ffff:127.0.0.1": "this machine itself", "rebound.example 0.0.0.0": "this machine itself",
		"rebound.example 169.254.169.254": "has the local address", "rebound.example fe80::1": "has the local address", "rebound.example 224.0.0.1": "has the local address",
		"rebound.example 64:ff9b::169.254.169.254": "has the local address", "rebound.example 64:ff9b::127.0.0.1": "this machine itself", "git.corp.example 64:ff9b::10.1.2.3": "",
	} {
		host, ip, _ := strings.Cut(at, " ")
		if why := notReached(host, netip.MustParseAddr(ip)); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q", at, why)
		}
	}
}

// SAME-3: a handler of a request for a model that panics or never returns breaks no git clone in a tunnel of the same listener, and no other
// request on its connection.
func TestModelPathFails(t *testing.T) {
	gitPath, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	git := func(env []string, args ...string) {
		t.Helper()
		cmd := exec.Command(gitPath, args...)
		cmd.Env = append(env, "HOME="+dir, "PATH="+os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	origin := filepath.Join(dir, "origin")
	git(nil, "init", "-q", origin)
	big := make([]byte, 3<<20)
	_, _ = rand.Read(big)
	if err := os.WriteFile(filepath.Join(origin, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	git(nil, "-C", origin, "add", "big")
	git(nil, "-C", origin, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one")

	stuck, end := make(chan struct{}), make(chan struct{})
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.RawQuery == "panic" {
			panic("injected")
		}
		close(stuck)
		<-end // whatever becomes of the request
	}))
	t.Cleanup(func() { close(end) })
	later := time.Now().Add(time.Hour)
	r.serve(t, modelHost, r.signer.sign(t, modelHost, later), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		_, _ = io.WriteString(w, "host")
	}))
	asking := r.client(t, r.trusted, true)
	var once sync.Once
	inject := func() { // in the middle of the clone
		if resp, err := asking.Post("https://"+modelHost+"/v1/ask?panic", "", nil); err == nil {
			t.Error(resp.Status)
		}
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+modelHost+"/v1/ask?stuck", bytes.NewReader(big)) // nobody reads it
		go func() { _, _ = asking.Do(q) }()                                                                                          // it ends with the test
		<-stuck
	}
	backend := &cgi.Handler{Path: gitPath, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + dir}, Stderr: io.Discard}
	r.serve(t, otherHost, r.signer.sign(t, otherHost, later), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/git-upload-pack") {
			w = &interrupted{ResponseWriter: w, after: 1 << 20, do: func() { once.Do(inject) }}
		}
		backend.ServeHTTP(w, q)
	}))
	authority := filepath.Join(dir, "signer.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.signer.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	git([]string{"HTTPS_PROXY=" + r.url.String(), "GIT_SSL_CAINFO=" + authority}, "clone", "-q", "https://"+otherHost+"/origin", filepath.Join(dir, "copy"))
	if got, err := os.ReadFile(filepath.Join(dir, "copy", "big")); err != nil || !bytes.Equal(got, big) {
		t.Error("the clone differs", err)
	}
	select {
	case <-stuck:
	default:
		t.Error("nothing was injected")
	}
	if _, got := ask(t, asking, http.MethodPost, "https://"+modelHost+"/api/hello", http.Header{}, big); got != "host" {
		t.Error(got)
	}
}

// interrupted calls do when a number of bytes were written.
type interrupted struct {
	http.ResponseWriter
	after int
	do    func()
}

func (w *interrupted) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	if w.after -= n; w.after < 0 {
		w.do()
	}
	return n, err
}
