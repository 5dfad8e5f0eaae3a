package e2e

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// codexLogin is Codex with a login of ChatGPT, which no one signed. It reaches chatgpt.com through an HTTP proxy, as in a company.
func codexLogin(sockets bool) agent {
	name := "codex-login"
	if sockets {
		name += "-socket"
	}
	return agent{name: name, wire: "responses", command: codex.command, configure: func(t *testing.T, home, model string) []string {
		part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		token := part(`{"alg":"RS256","typ":"JWT"}`) + "." + part(fmt.Sprintf(`{"exp":%d,"email":"gardener@example.org","https://api.openai.com/auth":`+
			`{"chatgpt_plan_type":"plus","chatgpt_user_id":"user-garden","chatgpt_account_id":"account-garden"}}`, time.Now().Add(240*time.Hour).Unix())) + "." + part("nobody")
		write(t, filepath.Join(home, ".codex/auth.json"), fmt.Sprintf(`{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":%q,"access_token":%q,"refresh_token":"none","account_id":"account-garden"},"last_refresh":%q}`,
			token, token, time.Now().UTC().Format(time.RFC3339)))
		write(t, filepath.Join(home, ".codex/config.toml"), "model = \"gpt-5.5\"\n[analytics]\nenabled = false\n")
		proxy, authority := chatGPT(t, home, model, sockets)
		return []string{"HTTPS_PROXY=" + proxy, "CODEX_CA_CERTIFICATE=" + authority}
	}}
}

// chatGPT plays chatgpt.com behind an HTTP proxy: requests for a model go to model, and it knows the other paths that Codex needs. It returns
// the proxy's address, and the file of the authority that signed the host's certificate.
func chatGPT(t *testing.T, home, model string, sockets bool) (proxy, authority string) {
	t.Helper()
	to, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = "/v1" + strings.TrimPrefix(r.In.URL.Path, "/backend-api/codex")
	}}
	var listed atomic.Bool
	cert, authority := certificate(t, home, []string{"chatgpt.com"})
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/backend-api/wham/accounts/check": // which host has the account's workspace
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"accounts":[{"id":"account-garden","plan_type":"plus","structure":"personal","workspace_backend_origin":"NO_CONSTRAINT","account_routing_override":"NO_CONSTRAINT"}],`+
				`"account_ordering":["account-garden"],"default_account_id":"account-garden"}`)
		case strings.HasPrefix(r.URL.Path, "/backend-api/codex/responses"):
			if r.Header.Get("Upgrade") != "" && !sockets {
				w.WriteHeader(http.StatusUpgradeRequired)
				return
			}
			forward.ServeHTTP(w, r)
		default:
			if r.URL.Path == "/backend-api/codex/models" {
				listed.Store(true)
			}
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		if !listed.Load() {
			t.Error("Codex did not ask chatgpt.com for its models")
		}
	})
	host.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	host.StartTLS()
	t.Cleanup(host.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "chatgpt.com:443" {
			http.Error(w, "this proxy reaches chatgpt.com alone", http.StatusForbidden)
			return
		}
		upstream, err := net.Dial("tcp", host.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = upstream.Close()
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
		go func() { _, _ = io.Copy(client, upstream); _ = client.Close() }()
	}))
	t.Cleanup(front.Close)
	return front.URL, authority
}
