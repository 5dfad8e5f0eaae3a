package main

import (
	"bufio"
	"context"
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
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/gatewaytest"
)

// certified writes a certificate for 127.0.0.1 and its key below a directory. It returns a configuration that trusts the signer,
// whose certificate is in ca.pem.
func certified(t *testing.T, dir string) *tls.Config {
	t.Helper()
	signerKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test signer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test server"}, NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed := func(c, by *x509.Certificate, of *ecdsa.PrivateKey, file string) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, by, &of.PublicKey, signerKey)
		if err != nil {
			t.Fatal(err)
		}
		b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		write(t, filepath.Join(dir, file), string(b))
		return b
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(signed(signer, signer, signerKey, "ca.pem"))
	signed(own, signer, key, "cert.pem")
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	return &tls.Config{RootCAs: roots}
}

// Over TLS: a host and an agent that trust the signer connect, and those that do not get the reason. Plain HTTP requests are
// refused with an answer that says so.
func TestServeTLS(t *testing.T) {
	h, there := newHome(t), newHome(t)
	trusting := certified(t, h.dir)
	cert, key, ca := filepath.Join(h.dir, "cert.pem"), filepath.Join(h.dir, "key.pem"), filepath.Join(h.dir, "ca.pem")
	s := h.serve(t, "--no-workspace", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.base, "https://127.0.0.1:") {
		t.Fatalf("it is at %s", s.base)
	}
	laptop := h.token(t, "laptop", "host")
	there.env = append(there.env, "STET_TOKEN="+laptop)

	refused := there.stet("host", "--root", there.tree, "--workspace", "there", s.base)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "certificate signed by unknown authority") {
		t.Errorf("a host that does not trust it: %v: %s", err, out)
	}
	host := there.start(t, "host", "--root", there.tree, "--workspace", "there", "--ca", ca, s.base)
	host.tells(t, "connected to https")
	write(t, filepath.Join(there.tree, "a.txt"), "over TLS\n")

	short, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := gatewaytest.Connect(short, s.base, s.agent, "", nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an agent that does not trust it: %v", err)
	}
	agent, err := gatewaytest.Connect(t.Context(), strings.Replace(s.base, "https", "wss", 1), s.agent, "there", trusting)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if err := agent.AwaitHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := agent.Call(t.Context(), "read_file", `{"path":"a.txt"}`); err != nil || !strings.Contains(string(r.Result), "over TLS") {
		t.Errorf("%+v, %v", r, err)
	}

	transport := &http.Transport{TLSClientConfig: trusting, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Transport: transport}
	for origin, want := range map[string]int{s.base: http.StatusOK, strings.Replace(s.base, "https", "http", 1): http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/login", strings.NewReader(`{"token":"`+s.person+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		res, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want || len(res.Cookies()) != 0 {
			t.Errorf("a page of %s: %s, %v", origin, res.Status, res.Cookies())
		}
	}

	plain, err := net.Dial("tcp", strings.TrimPrefix(s.base, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := io.WriteString(plain, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(bufio.NewReader(plain)); err != nil || !strings.Contains(string(b), " 400 Bad Request") || !strings.Contains(string(b), "sent an HTTP request to an HTTPS server") {
		t.Errorf("%q, %v", b, err)
	}
}

// An error in the files is reported at once, also a certificate without its key.
func TestServeTLSFiles(t *testing.T) {
	h := newHome(t)
	certified(t, h.dir)
	certified(t, h.tree)
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	for says, flags := range map[string][]string{
		"no such file":     {"--tls-cert", in(h.dir, "none.pem"), "--tls-key", in(h.dir, "key.pem")},
		"does not match":   {"--tls-cert", in(h.dir, "cert.pem"), "--tls-key", in(h.tree, "key.pem")},
		"PEM inputs":       {"--tls-cert", in(h.dir, "key.pem"), "--tls-key", in(h.dir, "key.pem")},
		"go together":      {"--tls-cert", in(h.dir, "cert.pem")},
		"no certificate":   {"--demo", "--tls-cert", in(h.dir, "cert.pem"), "--tls-key", in(h.dir, "key.pem")},
		"want an address ": {"--trust-proxy", "everybody"},
	} {
		cmd := h.stet(append([]string{"serve", "--root", h.tree, "--listen", "127.0.0.1:0", "--for", "1ms"}, flags...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%v: %d: %s", flags, cmd.ProcessState.ExitCode(), out)
		}
	}
	for says, file := range map[string]string{"no such file": "none.pem", "no certificate in it": "key.pem"} {
		cmd := h.stet("host", "--ca", in(h.dir, file), "https://127.0.0.1:1")
		cmd.Env = append(cmd.Env, "STET_TOKEN=stet_0123456789")
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("--ca %s: %d: %s", file, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// The browser's address comes from a trusted proxy. Headers of others are ignored.
func TestServeBehindProxy(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		h := newHome(t)
		flags := []string{"--no-workspace", "--allow-host", "box.example"}
		if trusted {
			flags = append(flags, "--trust-proxy", "127.0.0.1")
		}
		s := h.serve(t, flags...)
		login := func(from, token string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/login", strings.NewReader(`{"token":"`+token+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "box.example"
			r.Header.Set("Origin", "https://box.example")
			r.Header.Set("X-Forwarded-For", from)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res
		}
		if res := login("192.0.2.1", s.person); res.StatusCode != http.StatusOK {
			t.Errorf("trusted %v: %s", trusted, res.Status)
		}
		for i := range 10 {
			login("198.51.100."+string(rune('0'+i)), "guess")
		}
		want := http.StatusTooManyRequests // it counts as one address, whatever its headers say
		if trusted {
			want = http.StatusUnauthorized
		}
		if res := login("203.0.113.1", "guess"); res.StatusCode != want {
			t.Errorf("trusted %v: %s", trusted, res.Status)
		}
		if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // the trail is written completely
			t.Fatal(err)
		}
		<-s.ended
		out := h.run(t, "audit", "--last", "0")
		if address := "ui-198.51.100.9"; strings.Contains(out, address) != trusted || !strings.Contains(out, "login") {
			t.Errorf("trusted %v: the trail: %s", trusted, out)
		}
	}
}
