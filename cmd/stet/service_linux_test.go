package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/test/freeport"
)

// systemd listens, and starts the proxy at the first request. The proxy uses that socket, whatever address is configured, also as a forward proxy.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		if os.Getenv("STET_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip("systemd-socket-activate is not installed")
	}
	h := newHome(t)
	address := freeport.Addresses(t, 1)[0]
	asked := make(chan string, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer model.Close()
	authority, err := proxyserver.OpenAuthority(filepath.Join(h.dir, "state", "stet"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority.Certificate())
	proxy := h.stet("proxy", "--listen", "127.0.0.1:1")
	cmd := exec.CommandContext(t.Context(), activate, "--listen="+address, proxy.Path, "proxy", "--listen", "127.0.0.1:1", "--upstream", model.URL)
	for _, v := range proxy.Env { // systemd passes on no other variables
		name, _, _ := strings.Cut(v, "=")
		cmd.Args = append(cmd.Args[:2:2], append([]string{"--setenv=" + name}, cmd.Args[2:]...)...)
	}
	cmd.Env, cmd.Dir = proxy.Env, proxy.Dir
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	through := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address}), TLSClientConfig: &tls.Config{RootCAs: trusted},
	}}
	defer through.CloseIdleConnections()
	var resp *http.Response
	waitFor(t, func() bool { // systemd listens
		// The first bytes are a CONNECT: the proxy starts by it.
		if resp, err = through.Post("https://api.anthropic.com/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":9,"messages":[]}`)); err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
	if err != nil || resp.StatusCode != http.StatusOK || <-asked != "/v1/messages" {
		t.Fatal(err, resp)
	}
	resp, err = http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); string(answer) != "ok\n" {
		t.Errorf("the answer is %q: %v", answer, err)
	}
}
