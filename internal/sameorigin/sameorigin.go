// Package sameorigin tells HTTP requests that a program on this machine makes, or
// a page that came from here, from those that a page of another site has a browser
// make: by a name that was rebound to this address (its Host), or across origins
// (its Origin, or what the browser says in Sec-Fetch-Site).
//
// It is not authentication: a program that is no browser can send any header.
package sameorigin

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Check says which requests are served. The zero Check serves those to the
// loopback's names, localhost and its addresses, under any port. It may be used
// concurrently.
type Check struct {
	// Hosts are further names that requests may call the server by. With a port,
	// a name is allowed with that port alone.
	Hosts []string

	// Links lets a link of another site open a page here: a GET whose answer
	// becomes what a tab shows, and which no other page can read.
	Links bool
}

// Refusal says in words for people why a request may not be served; it is empty
// when it may. All methods are looked at alike: a GET opens a WebSocket.
func (c Check) Refusal(r *http.Request) string {
	name := hostname(r.Host)
	switch {
	case r.Host == "":
		return "the request has no Host header"
	case name == "" || !loopback(name) && !c.allows(r.Host, name):
		return fmt.Sprintf("the host name %q is not allowed here: use 127.0.0.1, or start stet with this host allowed", clip(r.Host))
	}
	for _, origin := range r.Header.Values("Origin") {
		if !own(origin, r) {
			return "requests of web pages from another origin are not allowed here"
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "" && site != "same-origin" && site != "none" && !(c.Links && isLink(r)) {
			return "requests of web pages from another site are not allowed here"
		}
	}
	return ""
}

// own reports whether an Origin is that of the request's own server. Where the
// request came in clear, a proxy in front may have taken TLS off it.
func own(origin string, r *http.Request) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	return (scheme == "https" || scheme == "http" && r.TLS == nil) && strings.EqualFold(host, r.Host)
}

// isLink reports whether the answer becomes what a tab shows.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// loopback reports whether name is this machine for every resolver: localhost, or
// an address of the loopback, which no name can be rebound to.
func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback() && ip.Zone() == ""
}

// allows reports whether a host is one of c.Hosts, with its port or without.
func (c Check) allows(host, name string) bool {
	return slices.ContainsFunc(c.Hosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

// hostname is the name in a Host header: without port and brackets, in lower case;
// empty if the header is not as it should be.
func hostname(host string) string {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host {
		return ""
	}
	name := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(name); strings.HasPrefix(host, "[") != (err == nil && ip.Is6()) {
		return ""
	}
	return name
}

// clip shortens a text of the request for an error message.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
