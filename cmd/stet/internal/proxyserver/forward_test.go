package proxyserver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/connect"
)

// SAME-3: the authority of a user is made once, also by runs that begin at once. Only its owner can read the file, and it can be removed.
func TestAuthorityFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	certs := make([]string, 8)
	var all sync.WaitGroup
	for i := range certs {
		all.Go(func() {
			a, err := OpenAuthority(dir)
			if err != nil {
				t.Error(err)
				return
			}
			certs[i] = string(a.Certificate())
		})
	}
	all.Wait()
	for _, c := range certs {
		if c != certs[0] || c == "" {
			t.Fatal("there are several authorities")
		}
	}
	file := filepath.Join(dir, authorityFile)
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(err, info.Mode())
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := OpenAuthority(dir); err != nil || !a.Fits(hostNames()) || string(a.Certificate()) == certs[0] {
		t.Error("a damaged file is not replaced", err)
	}
	other, err := connect.NewAuthority([]string{"other.example.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, other.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := OpenAuthority(dir); err != nil || !a.Fits(hostNames()) {
		t.Error("an authority for other hosts is not replaced", err)
	}
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		open := a
		if a, err = OpenAuthority(dir); err != nil || bytes.Equal(a.Text(), open.Text()) {
			t.Error("the key that others could read is still used", err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(err, info.Mode())
		}
	}
	trust, err := TrustFile(dir, "", a, []byte("the person's own\n\n"))
	if text, _ := os.ReadFile(trust); err != nil || string(text) != "the person's own\n"+string(a.Certificate()) {
		t.Errorf("%v: %s", err, text)
	}
	if removed, err := RemoveAuthority(dir, false); err != nil || len(removed) != 3 {
		t.Error(removed, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it is still there")
	}
}

// SAME-3: only requests for a model are taken from the hosts, and they reach the proxy at its own paths.
func TestModelPaths(t *testing.T) {
	for _, test := range []struct{ method, url, upgrade, want string }{
		{"POST", "https://api.anthropic.com/v1/messages?beta=true", "", "/v1/messages?beta=true"},
		{"POST", "https://api.anthropic.com/v1/messages/count_tokens", "", "/v1/messages/count_tokens"},
		{"POST", "https://api.anthropic.com/v1/messages/batches", "", ""},
		{"GET", "https://api.anthropic.com/v1/messages", "", ""},
		{"POST", "https://api.anthropic.com/api/event_logging/v2/batch", "", ""},
		{"POST", "https://api.anthropic.com/v1/responses", "", ""},
		{"POST", "https://api.openai.com/v1/responses", "", "/v1/responses"},
		{"GET", "https://api.openai.com/v1/responses", "websocket", "/v1/responses"},
		{"GET", "https://api.openai.com/v1/responses", "", ""},
		{"GET", "https://api.openai.com/v1/responses/resp_1", "", ""},
		{"POST", "https://api.openai.com/v1/embeddings", "", ""},
		{"POST", "https://chatgpt.com/backend-api/codex/responses", "", "/stet/@chatgpt/v1/responses"},
		{"GET", "https://chatgpt.com/backend-api/codex/responses", "WebSocket", "/stet/@chatgpt/v1/responses"},
		{"POST", "https://chatgpt.com/backend-api/codex/responses/compact", "", "/stet/@chatgpt/v1/responses/compact"},
		{"GET", "https://chatgpt.com/backend-api/codex/models", "", ""},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:embedContent", "", ""},
		{"POST", "https://generativelanguage.googleapis.com/upload/v1beta/files", "", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, test.url, nil)
		if test.upgrade != "" {
			r.Header.Set("Upgrade", test.upgrade)
		}
		got := ""
		if h := modelHosts[r.URL.Host]; h.asks(r) {
			toProxy(r)
			got = r.URL.RequestURI()
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.url, got, test.want)
		}
	}
}

// A request from a host with upstreams of its own goes there, unless a flag names another.
func TestHostUpstreams(t *testing.T) {
	seen := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.URL.Path }))
	defer upstream.Close()
	h := modelHosts["chatgpt.com"]
	h.upstreams = llm.Upstreams{llm.Responses: upstream.URL + "/backend-api/codex"}
	o := &config.Config{}
	s, err := Open(t.Context(), Config{Settings: o, Agents: func(name string) (llm.Upstreams, error) {
		if u, err := HostUpstreams(o, nil)(name); err != nil || u[llm.Responses] != "https://chatgpt.com/backend-api/codex" {
			t.Errorf("%+v %v", u, err)
		}
		return h.upstreams, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context(), 0)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://chatgpt.com/backend-api/codex/responses", strings.NewReader(`{"model":"m","input":[]}`))
	toProxy(r)
	s.Proxy.ServeHTTP(httptest.NewRecorder(), r)
	if got := <-seen; got != "/backend-api/codex/responses" {
		t.Error(got)
	}
	if _, err := HostUpstreams(o, nil)("claude"); err == nil {
		t.Error("an unknown agent has upstreams")
	}
}

// NO_PROXY is understood as other programs understand it.
func TestDirect(t *testing.T) {
	named := func(host string) bool {
		return Named("intern.example, .corp.example,*.lab.example,10.0.0.0/8, 192.0.2.1:8443,[2001:db8::1]:443 other.example:99,.", host)
	}
	for host, want := range map[string]bool{
		"intern.example": true, "git.intern.example": true, "GIT.corp.example": true, "a.lab.example": true, "10.1.2.3": true, "192.0.2.1": true, "2001:db8::1": true, "other.example": true,
		"xintern.example": false, "example": false, "11.1.2.3": false, "192.0.2.2": false, "": false,
	} {
		if named(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
	if !Named("*", "any.example") || Named("", "any.example") {
		t.Error("* or nothing")
	}
}
