package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/gatewaytest"
)

// signer signs certificates.
type signer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newSigner(t *testing.T, name string) *signer {
	t.Helper()
	s := &signer{t: t, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	s.pem, s.key = s.sign(s.cert)
	return s
}

// sign makes a key and a certificate for it. The signer's own certificate is made first.
func (s *signer) sign(c *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	by := s.key
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, s.cert, &key.PublicKey, by)
	if err != nil {
		s.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

// client makes a certificate for a client, modified by change, with its key.
func (s *signer) client(name, uri string, change func(*x509.Certificate)) (cert, key []byte) {
	s.t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if uri != "" {
		u, err := url.Parse(uri)
		if err != nil {
			s.t.Fatal(err)
		}
		c.URIs = []*url.URL{u}
	}
	if change != nil {
		change(c)
	}
	cert, of := s.sign(c)
	der, err := x509.MarshalECPrivateKey(of)
	if err != nil {
		s.t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// node makes a certificate for a server on this machine that is also a client of the others.
func (s *signer) node(name string, change func(*x509.Certificate)) (cert, key []byte) {
	return s.client(name, "", func(c *x509.Certificate) {
		c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		if change != nil {
			change(c)
		}
	})
}

// files writes a certificate and its key into a new directory.
func files(t *testing.T, cert, key []byte) (certFile, keyFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certFile, string(cert))
	write(t, keyFile, string(key))
	return certFile, keyFile
}

// with returns trusting for a client with a certificate.
func with(t *testing.T, trusting *tls.Config, cert, key []byte) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c := trusting.Clone()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return c
}

// askOver is ask over TLS.
func askOver(t *testing.T, c *tls.Config, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// Hosts and agents log in with certificates that --client-ca signed, at every endpoint for agents, and only in the role of the
// certificate. The trail has their names.
func TestClientCertificates(t *testing.T) {
	h, there := newHome(t), newHome(t)
	trusting := certified(t, h.dir)
	ours, others := newSigner(t, "our signer"), newSigner(t, "another signer")
	in := func(name string) string { return filepath.Join(h.dir, name) }
	write(t, in("clients.pem"), string(ours.pem))
	s := h.serve(t, "--no-workspace", "--tls-cert", in("cert.pem"), "--tls-key", in("key.pem"), "--client-ca", in("clients.pem"))
	write(t, filepath.Join(there.tree, "a.txt"), "by certificate\n")

	cert, key := clientFiles(t, ours, "laptop", "stet://host/there")
	host := there.start(t, "host", "--root", there.tree, "--workspace", "there", "--ca", in("ca.pem"), "--cert", cert, "--key", key, s.base)
	host.tells(t, "connected to https")

	builder, builderKey := ours.client("builder", "stet://agent/there", nil)
	asBuilder := with(t, trusting, builder, builderKey)
	agent, err := gatewaytest.Connect(t.Context(), strings.Replace(s.base, "https", "wss", 1), "", "there", asBuilder)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if err := agent.AwaitHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := agent.Call(t.Context(), "read_file", `{"path":"a.txt"}`); err != nil || !strings.Contains(string(r.Result), "by certificate") {
		t.Errorf("over the WebSocket: %+v, %v", r, err)
	}
	if status, text := askOver(t, asBuilder, http.MethodPost, s.base+"/v1/sessions/s/tools/read_file", `{"path":"a.txt"}`); status != http.StatusOK || !strings.Contains(text, "by certificate") {
		t.Errorf("over plain HTTP: %d %s", status, text)
	}
	mcp := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	if status, text := askOver(t, asBuilder, http.MethodPost, s.base+"/mcp/there", beginMCP, mcp...); status != http.StatusOK {
		t.Errorf("over MCP: %d %s", status, text)
	}

	// Only in the role of the certificate.
	if status, text := askOver(t, asBuilder, http.MethodPost, s.base+"/mcp/elsewhere", beginMCP, mcp...); status != http.StatusForbidden || !strings.Contains(text, `for workspace "there" alone`) {
		t.Errorf("another workspace over MCP: %d %s", status, text)
	}
	if status, text := askOver(t, asBuilder, http.MethodPost, s.base+"/v1/sessions/s/tools/read_file?workspace=elsewhere", `{}`); status != http.StatusForbidden || !strings.Contains(text, "alone") {
		t.Errorf("another workspace: %d %s", status, text)
	}
	laptop, laptopKey := ours.client("laptop", "stet://host/there", nil)
	if status, text := askOver(t, with(t, trusting, laptop, laptopKey), http.MethodGet, s.base+"/v1/workspaces", ""); status != http.StatusForbidden || !strings.Contains(text, "role agent") {
		t.Errorf("a host as an agent: %d %s", status, text)
	}
	if status, text := askOver(t, asBuilder, http.MethodPost, s.base+"/api/login", `{"token":""}`); status != http.StatusUnauthorized {
		t.Errorf("the page: %d %s", status, text)
	}

	foreign, foreignKey := others.client("builder", "stet://agent/there", nil)
	none, noneKey := others.client("", "", nil)
	for says, made := range map[string]func() ([]byte, []byte){
		"another signer":        func() ([]byte, []byte) { return foreign, foreignKey },
		"--client-ca":           func() ([]byte, []byte) { return none, noneKey },
		"is not valid now":      ours.bad("stet://agent/", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		"not valid now, but":    ours.bad("stet://agent/", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }),
		"has 0 URIs of stet":    ours.bad("", nil),
		"has 2 URIs of stet":    ours.bad("stet://agent/a", func(c *x509.Certificate) { c.URIs = append(c.URIs, &url.URL{Scheme: "stet", Host: "agent"}) }),
		"people have tokens":    ours.bad("stet://approver/", nil),
		"is for agent or host":  ours.bad("stet://person/", nil),
		"letters, digits":       ours.bad("stet://agent/a/b", nil),
		"has no common name":    ours.bad("stet://agent/", func(c *x509.Certificate) { c.Subject.CommonName = "" }),
		"usage clientAuth":      ours.bad("stet://agent/", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
		"up to 64 characters: ": ours.bad("stet://agent/", func(c *x509.Certificate) { c.Subject.CommonName = strings.Repeat("x", 65) }),
	} {
		cert, key := made()
		bad := with(t, trusting, cert, key)
		for _, path := range []string{"/v1/workspaces", "/mcp/there"} {
			if status, text := askOver(t, bad, http.MethodGet, s.base+path, ""); status != http.StatusForbidden || !strings.Contains(text, says) {
				t.Errorf("%s: %s: %d %s", says, path, status, text)
			}
		}
		if status, text := askOver(t, bad, http.MethodGet, s.base+"/v1/workspaces", "", "Authorization", "Bearer "+s.agent); status != http.StatusOK {
			t.Errorf("%s, with a token: %d %s", says, status, text)
		}
	}

	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // the trail is written completely
		t.Fatal(err)
	}
	<-s.ended
	if out := h.run(t, "audit", "--json", "--last", "0"); !strings.Contains(out, "token laptop") || !strings.Contains(out, "token builder") || !strings.Contains(out, "certificate is not good") {
		t.Errorf("the trail: %s", out)
	}
}

func clientFiles(t *testing.T, by *signer, name, uri string) (certFile, keyFile string) {
	t.Helper()
	cert, key := by.client(name, uri, nil)
	return files(t, cert, key)
}

// bad makes an invalid certificate.
func (s *signer) bad(uri string, change func(*x509.Certificate)) func() ([]byte, []byte) {
	return func() ([]byte, []byte) { return s.client("bad", uri, change) }
}

// A connection ends when its certificate expires, and a host continues with a renewed certificate.
func TestCertificateEnds(t *testing.T) {
	h, there := newHome(t), newHome(t)
	certified(t, h.dir)
	ours := newSigner(t, "our signer")
	in := func(name string) string { return filepath.Join(h.dir, name) }
	write(t, in("clients.pem"), string(ours.pem))
	s := h.serve(t, "--no-workspace", "--tls-cert", in("cert.pem"), "--tls-key", in("key.pem"), "--client-ca", in("clients.pem"))
	var cert, key string
	var host *background
	for life := 4 * time.Second; ; life *= 4 { // a busy machine needs longer until the host is connected
		short, shortKey := ours.client("laptop", "stet://host/there", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(life) })
		cert, key = files(t, short, shortKey)
		host = there.start(t, "host", "--root", there.tree, "--workspace", "there", "--ca", in("ca.pem"), "--cert", cert, "--key", key, s.base)
		<-host.ended
		if strings.Contains(host.text(), "connected to https") {
			break
		}
		if life > time.Minute {
			t.Fatalf("it was never connected: %s", host.text())
		}
	}
	if text := host.text(); !strings.Contains(text, "expired") && !strings.Contains(text, "is not valid now") {
		t.Errorf("a host whose certificate ended: %s", text)
	}
	again := there.stet("host", "--root", there.tree, "--workspace", "there", "--ca", in("ca.pem"), "--cert", cert, "--key", key, s.base)
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), `the certificate of "laptop" has ended`) {
		t.Errorf("a host whose certificate has ended: %v: %s", err, out)
	}
	renewed, renewedKey := ours.client("laptop", "stet://host/there", nil)
	write(t, cert, string(renewed))
	write(t, key, string(renewedKey))
	host = there.start(t, "host", "--root", there.tree, "--workspace", "there", "--ca", in("ca.pem"), "--cert", cert, "--key", key, s.base)
	host.tells(t, "connected to https")

	cert, key = clientFiles(t, newSigner(t, "another signer"), "laptop", "stet://host/there")
	refused := there.stet("host", "--root", there.tree, "--workspace", "there", "--ca", in("ca.pem"), "--cert", cert, "--key", key, s.base)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "another signer") || !strings.Contains(string(out), "--client-ca") {
		t.Errorf("a host with a certificate of another signer: %v: %s", err, out)
	}
	for says, flags := range map[string][]string{
		"go together":             {"--cert", cert, s.base},
		"does not match":          {"--cert", cert, "--key", in("key.pem"), s.base},
		"which a certificate nee": {"--cert", cert, "--key", key, "http://127.0.0.1:1"},
		"no such file":            {"--cert", in("none.pem"), "--key", key, s.base},
	} {
		cmd := there.stet(append([]string{"host"}, flags...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%v: %d: %s", flags, cmd.ProcessState.ExitCode(), out)
		}
	}
	for says, flags := range map[string][]string{
		"--client-ca needs --tls-cert": {"--client-ca", in("clients.pem")},
		"no such file":                 {"--tls-cert", in("cert.pem"), "--tls-key", in("key.pem"), "--client-ca", in("none.pem")},
		"no certificate in it":         {"--tls-cert", in("cert.pem"), "--tls-key", in("key.pem"), "--client-ca", in("key.pem")},
	} {
		cmd := newHome(t).stet(append([]string{"serve", "--no-workspace", "--listen", "127.0.0.1:0", "--for", "1ms"}, flags...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%v: %d: %s", flags, cmd.ProcessState.ExitCode(), out)
		}
	}
}
