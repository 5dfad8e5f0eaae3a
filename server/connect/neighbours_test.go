package connect

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func says(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, what) })
}

// A host is known in every spelling. A connection that names another host inside passes. (SAME-3)
func TestSpellings(t *testing.T) {
	r := newRig(t, says("model"))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), says("host"))
	for _, also := range []string{"xn--bcher-kva.example:443", "203.0.113.7:443", "[2001:db8::7]:443", "deep." + modelHost + ":443", modelHost + ":8443"} {
		r.hosts[also] = r.hosts[modelHost+":443"]
	}
	for _, tt := range []struct{ target, head, name, host, want string }{
		{target: "MODEL.Example.com:443", want: "model"},
		{target: modelHost + ".:443", want: "model"},
		{target: modelHost + ":443", name: "-", want: "model"}, // no name inside
		{target: modelHost + ":443", name: "Model.Example.COM", host: "Model.example.com.", want: "model"},
		{target: modelHost + ":443", host: modelHost + ":443", want: "model"},
		{target: modelHost + ":443", host: otherHost, want: "host"},
		{target: modelHost + ":443", head: "Host: " + otherHost + "\r\n", want: "model"}, // the target counts
		{target: modelHost + ":443", name: otherHost, want: "host"},
		{target: modelHost + ":8443", want: "host"},
		{target: "deep." + modelHost + ":443", want: "host"},
		{target: "xn--bcher-kva.example:443", want: "host"},
		{target: "203.0.113.7:443", want: "host"}, // whatever it names inside
		{target: "[2001:db8::7]:443", want: "host"},
		{target: "bücher.example:443", want: "400"},
		{target: modelHost + ":443/path", want: "400"},
		{target: modelHost + ":443", head: "Content-Length: 5\r\n", want: ""}, // what follows is no TLS for the proxy either
	} {
		got := func() string {
			c, err := net.Dial("tcp", r.url.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n%sProxy-Authorization: Basic c3RldDpvZiB0aGUgY2xpZW50cw==\r\n", tt.target, tt.head)
			if !strings.HasPrefix(tt.head, "Host") {
				fmt.Fprintf(c, "Host: %s\r\n", tt.target)
			}
			_, _ = io.WriteString(c, "\r\n")
			if strings.HasPrefix(tt.head, "Content") {
				_, _ = io.WriteString(c, "hello")
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
			if err != nil {
				return err.Error()
			}
			if resp.StatusCode != http.StatusOK {
				return fmt.Sprint(resp.StatusCode)
			}
			name := modelHost
			if tt.name != "" {
				name = strings.Trim(tt.name, "-")
			}
			secured := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
			host := modelHost
			if tt.host != "" {
				host = tt.host
			}
			fmt.Fprintf(secured, "POST /v1/ask HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n", host)
			answer, err := http.ReadResponse(bufio.NewReader(secured), nil)
			if err != nil {
				return ""
			}
			b, _ := io.ReadAll(answer.Body)
			return string(b)
		}()
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	if all := strings.Join(r.proxy.Refused(), "\n"); !strings.Contains(all, modelHost+" passed without stet: a program named another host") {
		t.Error(all)
	}
}

// Hundreds of tunnels work at once, and opened connections too. One more than allowed is refused, and all are counted down at their end.
func TestManyTunnels(t *testing.T) {
	r := newRig(t, says("model"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	r.hosts["echo.example.org:8443"] = l.Addr().String()
	r.proxy.most = 300
	var all []net.Conn
	for range r.proxy.most - 1 {
		c := connectTo(t, r.url, "echo.example.org:8443")
		defer c.Close()
		all = append(all, c)
	}
	client := r.client(t, r.trusted, true)
	if _, said := ask(t, client, http.MethodPost, "https://"+modelHost+"/v1/ask", http.Header{}, nil); said != "model" {
		t.Error(said)
	}
	for _, target := range []string{"echo.example.org:8443", modelHost + ":443"} {
		if _, status, why := tryConnect(t, r.url, target); status != http.StatusServiceUnavailable || !strings.Contains(why, "too many tunnels") {
			t.Error(target, status, why)
		}
	}
	var working sync.WaitGroup
	for i, c := range all {
		working.Go(func() {
			sent, got := "\x16\x03\x01"+strings.Repeat(fmt.Sprint(i, " "), 5000), []byte(nil)
			go func() { _, _ = io.WriteString(c, sent); _ = c.(*net.TCPConn).CloseWrite() }()
			if got, _ = io.ReadAll(c); string(got) != sent {
				t.Errorf("tunnel %d: %d bytes", i, len(got))
			}
		})
	}
	working.Wait()
	client.CloseIdleConnections()
	r.proxy.Close()
	if r.proxy.tunnels != 0 {
		t.Errorf("%d tunnels are still counted", r.proxy.tunnels)
	}
}

// A program that has trusted the authority is not passed later, because another one looks like it and refuses. (SAME-1)
func TestOnceTrusted(t *testing.T) {
	r := newRig(t, says("model"))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), says("host"))
	for range 3 {
		if _, said := ask(t, r.client(t, r.trusted, true), http.MethodPost, "https://"+modelHost+"/v1/ask", http.Header{}, nil); said != "model" {
			t.Error(said)
		}
		if resp, err := r.client(t, r.signer.pool, true).Get("https://" + modelHost + "/v1/ask"); err == nil {
			t.Error(resp.Status)
		}
	}
}

// The person's own HTTP proxy may speak TLS, ask for a password, refuse, or be none.
func TestOwnProxies(t *testing.T) {
	r := newRig(t, nil)
	for _, host := range []string{otherHost, modelHost} {
		r.serve(t, host, r.signer.sign(t, host, time.Now().Add(time.Hour)), says("host"))
	}
	answering := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
	leads := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, password, _ := (&http.Request{Header: http.Header{"Authorization": q.Header["Proxy-Authorization"]}}).BasicAuth(); user != "m e" || password != "se:cr@t" {
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.hosts[q.Host])
		if err != nil {
			t.Error(err)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 204 Go on\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		_, _ = io.Copy(from, to)
		_ = from.Close()
	})
	secured := httptest.NewUnstartedServer(leads)
	secured.TLS = &tls.Config{Certificates: []tls.Certificate{r.signer.sign(t, "localhost", time.Now().Add(time.Hour))}}
	secured.StartTLS()
	defer secured.Close()
	at := strings.Replace(secured.Listener.Addr().String(), "127.0.0.1", "localhost", 1)
	six := httptest.NewUnstartedServer(leads)
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // otherwise this machine has no IPv6
		six.Listener = l
	}
	six.Start()
	defer six.Close()
	for proxy, want := range map[string]string{
		"https://m%20e:se%3Acr%40t@" + at:                                             "host",
		"http://m%20e:se%3Acr%40t@" + six.Listener.Addr().String():                    "host",
		"https://me:wrong@" + at:                                                      `answers "407 Proxy Authentication Required"`,
		"https://" + secured.Listener.Addr().String():                                 "certificate",
		answering("HTTP/1.1 403 Not That Host\r\nContent-Length: 0\r\n\r\n"):          `answers "403 Not That Host"`,
		answering("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n"): "HTTPS_PROXY",
		answering("SSH-2.0-OpenSSH\r\n"):                                              "HTTPS_PROXY",
		answering(""):                                                                 "HTTPS_PROXY",
		"socks5://127.0.0.1:1080":                                                     `a proxy of the kind "socks5": want http or https`,
		"http://127.0.0.1:1":                                                          "HTTPS_PROXY",
	} {
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		p := New(Config{
			Proxy: http.ProxyURL(u), RootCAs: r.signer.pool, Authority: r.proxy.authority(),
			Hosts: map[string]func(*http.Request) bool{modelHost: func(*http.Request) bool { return false }},
		})
		front := httptest.NewServer(p)
		through, _ := url.Parse(front.URL)
		c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: r.trusted}}}
		got := ""
		if resp, err := c.Get("https://" + otherHost + "/"); err == nil {
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got = string(b)
		} else if _, status, why := tryConnect(t, through, otherHost+":443"); status == http.StatusBadGateway {
			got = why // the client does not show it
		}
		if !strings.Contains(got, want) || strings.Contains(got, "wrong") {
			t.Errorf("%.80s: %.300q, want %q", proxy, got, want)
		}
		if resp, said := ask(t, c, http.MethodGet, "https://"+modelHost+"/", http.Header{}, nil); strings.Contains(want, "answers") && (resp.StatusCode != http.StatusBadGateway || !strings.Contains(said, want)) {
			t.Errorf("%.80s, for a request that passes: %s %q, want %q", proxy, resp.Status, said, want)
		}
		c.CloseIdleConnections()
		front.Close()
		p.Close()
	}
}

// A host that says on each connection that it is the last (GOAWAY) answers all requests.
func TestHostsGoAway(t *testing.T) {
	r := newRig(t, nil)
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		w.Header().Set("Connection", "close")
		_, _ = w.Write(b)
	}))
	c := r.client(t, r.trusted, true)
	for i := range 20 {
		body := strings.Repeat("x", i*1000)
		if resp, said := ask(t, c, http.MethodPost, "https://"+modelHost+"/api", http.Header{}, []byte(body)); said != body || resp.ProtoMajor != 2 {
			t.Errorf("%d: %s %d bytes", i, resp.Proto, len(said))
		}
	}
}

// In a session of weeks each new connection has a certificate that is valid, from an authority that the agent trusts, and that a proxy has
// replaced meanwhile.
func TestSessionOfWeeks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := NewAuthority([]string{modelHost}, nil)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(a.cert)
		if _, err := a.cert.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: time.Now().Add(-72 * time.Hour)}); err != nil {
			t.Errorf("after the clock was set back: %v", err)
		}
		now := a
		for day := range 360 {
			if !now.Fits([]string{modelHost}) {
				if now, err = NewAuthority([]string{modelHost}, now); err != nil || day < 300 {
					t.Fatal(day, err)
				}
			}
			leaf, err := now.leaf(modelHost)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: modelHost, Roots: pool}); err != nil || leaf.Leaf.NotAfter.Sub(leaf.Leaf.NotBefore) > leafLife+skew {
				t.Fatal(day, err)
			}
			time.Sleep(24 * time.Hour)
		}
		if now == a {
			t.Error("the authority was not replaced")
		}
	})
}
