package proxyserver

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/connect"
)

// modelHost is a host whose requests for a model go through the proxy.
type modelHost struct {
	paths   *regexp.Regexp // of these requests
	sockets bool           // a GET that asks for a WebSocket is one too
	// agent is the name in the path by which the proxy finds the host's upstreams; empty: they are the default ones.
	agent string
	// upstreams are those of the agent.
	upstreams llm.Upstreams
}

// modelHosts are the hosts whose TLS the forward proxy opens. The authority is constrained to them.
var modelHosts = map[string]modelHost{
	"api.anthropic.com": {paths: regexp.MustCompile(`^/v1/messages(/count_tokens)?$`)},
	"api.openai.com":    {paths: regexp.MustCompile(`^/v1/(responses(/compact)?|chat/completions)$`), sockets: true},
	"chatgpt.com": {
		paths: regexp.MustCompile(`^/backend-api/codex/responses(/compact)?$`), sockets: true,
		agent: "@chatgpt", upstreams: llm.Upstreams{llm.Responses: "https://chatgpt.com/backend-api/codex"},
	},
	"generativelanguage.googleapis.com": {paths: regexp.MustCompile(`^/v1(alpha|beta)?[0-9]*/models/[^/:]+:(streamGenerateContent|generateContent|countTokens)$`)},
}

// hostNames returns the hosts whose TLS the forward proxy opens, in order.
func hostNames() []string { return slices.Sorted(maps.Keys(modelHosts)) }

// asks reports whether a request is for a model.
func (h modelHost) asks(r *http.Request) bool {
	if !h.paths.MatchString(r.URL.EscapedPath()) {
		return false
	}
	return r.Method == http.MethodPost || h.sockets && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// HostUpstreams is a Config.Agents for requests from a forward proxy. It knows the hosts that have upstreams of their own, and asks next for
// other names; next may be nil.
func HostUpstreams(o *config.Config, next func(string) (llm.Upstreams, error)) func(string) (llm.Upstreams, error) {
	return func(name string) (llm.Upstreams, error) {
		for _, h := range modelHosts {
			if h.agent == name && name != "" {
				return o.Routed(h.upstreams), nil
			}
		}
		if next == nil {
			return llm.Upstreams{}, fmt.Errorf("no agent %q is known here", name)
		}
		return next(name)
	}
}

// toProxy gives a request for a model the address and the path under which the proxy serves it.
func toProxy(r *http.Request) {
	h := modelHosts[r.URL.Host]
	if h.agent != "" {
		rest := strings.TrimPrefix(r.URL.Path, "/backend-api/codex")
		r.URL.Path, r.URL.RawPath = "/stet/"+h.agent+"/v1"+rest, ""
	}
	r.URL.Scheme, r.URL.Host, r.Host = "http", "127.0.0.1", "127.0.0.1"
}

// Forward configures the forward proxy.
type Forward struct {
	Authority *connect.Authority
	Password  string // of its clients; empty: none
	NoProxy   string // the person's own NO_PROXY
	Logger    *slog.Logger
	Roots     *x509.CertPool // certificates of the hosts; nil: the system's
	// Upstream reaches all hosts, through its proxy and with its root certificates; nil: as the environment says.
	Upstream *http.Transport

	proxy func(*http.Request) (*url.URL, error) // the person's own HTTP proxy; nil: that of the environment
}

// InProcess returns a forward proxy whose requests for a model are served by a handler of this process.
func (f Forward) InProcess(model http.Handler) *connect.Proxy {
	return f.with(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		toProxy(r)
		model.ServeHTTP(w, r)
	}))
}

// To returns a forward proxy whose requests for a model go to the proxy that listens at address. It may be another process, which
// starts again while requests wait.
func (f Forward) To(address string) *connect.Proxy {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	t := &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	return f.with(connect.Pass(t, f.Logger, toProxy, func(string, error) string {
		return "the proxy ended during the request, and starts again: send it again"
	}))
}

func (f Forward) with(model http.Handler) *connect.Proxy {
	hosts := map[string]func(*http.Request) bool{}
	for name, h := range modelHosts {
		hosts[name] = h.asks
	}
	c := connect.Config{Hosts: hosts, Model: model, Authority: f.Authority, Password: f.Password, Logger: f.Logger, RootCAs: f.Roots, Proxy: f.proxy}
	c.Direct = func(host string) bool { return Named(f.NoProxy, host) }
	if f.Upstream != nil {
		c.Proxy, c.RootCAs = f.Upstream.Proxy, f.Upstream.TLSClientConfig.RootCAs
	}
	return connect.New(c)
}

// Named reports whether a NO_PROXY names a host. Its entries are names, which include the names below them, addresses, networks, each with
// or without a port, and "*".
func Named(noProxy, host string) bool {
	ip, notAddress := netip.ParseAddr(host)
	for entry := range strings.FieldsFuncSeq(noProxy, func(r rune) bool { return r == ',' || r == ' ' }) {
		entry = strings.ToLower(entry)
		if name, _, err := net.SplitHostPort(entry); err == nil {
			entry = name
		}
		network, notNetwork := netip.ParsePrefix(entry)
		name := strings.TrimPrefix(strings.TrimPrefix(strings.Trim(entry, "[]"), "*"), ".")
		switch {
		case entry == "*", name != "" && (strings.EqualFold(host, name) || strings.HasSuffix(strings.ToLower(host), "."+name)):
			return true
		case notNetwork == nil && notAddress == nil && network.Contains(ip.Unmap()):
			return true
		}
	}
	return false
}
