package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// refusal says why r may not be served: its Host is none of ours (a name that
// an attacker points at this machine), or a web page makes it. It is empty
// when r may.
func (p *Proxy) refusal(r *http.Request) string {
	name := hostname(r.Host)
	switch {
	case name == "":
		return "the request has no Host header"
	case !loopback(name) && !p.allows(r.Host, name):
		return "the host " + clip(r.Host, 100) + " is not allowed here: use 127.0.0.1, or start stet with this host allowed"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return "requests of web pages from another origin are not allowed here"
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return "requests of web pages from another site are not allowed here"
	}
	return ""
}

// loopback reports whether name is this machine for every resolver: localhost,
// or an address of the loopback.
func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}

// allows reports whether the configuration allows a host, with or without its
// port.
func (p *Proxy) allows(host, name string) bool {
	return slices.ContainsFunc(p.config.AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

// hostname is the name in a Host header: without port and brackets, in lower
// case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// clip cuts s to at most n bytes.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
