package httpguard

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/limits"
)

// Check says from where requests are accepted: programs on this machine, and pages of this server. It refuses requests that another
// site's page makes a browser send: under a name that was rebound to this address (Host), or across origins (Origin, or the browser's
// Sec-Fetch-Site). It is not authentication: a program other than a browser can send any header.
//
// The zero Check accepts requests to the loopback's names: localhost and its addresses, at any port. It may be used concurrently.
type Check struct {
	// Hosts are further allowed host names. A name with a port is allowed only with that port.
	Hosts []string

	// Links allows a link on another site to open a page here: a GET whose answer a tab shows. Other pages cannot read it.
	Links bool
}

// Refusal says why a request is refused, in words for people; "" if it is allowed. All methods are checked, because a GET opens a
// WebSocket.
func (c Check) Refusal(r *http.Request) string {
	name := hostname(r.Host)
	switch {
	case r.Host == "":
		return "the request has no Host header"
	case name == "" || !loopback(name) && !c.allows(r.Host, name):
		return fmt.Sprintf("the host name %q is not allowed here: use 127.0.0.1, or start stet with this host allowed", limits.Shorten(r.Host, 100))
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

// own reports whether an Origin is the request's own server. For a request without TLS, a proxy in front may have removed TLS.
func own(origin string, r *http.Request) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	return (scheme == "https" || scheme == "http" && r.TLS == nil) && strings.EqualFold(host, r.Host)
}

// isLink reports whether a tab shows the answer.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// loopback reports whether name always means this machine: localhost, or a loopback address. No name can be rebound to these.
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

// hostname returns the name in a Host header, without port and brackets, in lower case; "" for an invalid header.
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

// notPublic are ranges of carriers (RFC 6598), of a network's own NAT64 (RFC 8215), of Teredo (RFC 4380), of sites (RFC 3879), and of old forms of IPv4.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// holders are ranges of IPv6 whose addresses lead to an IPv4 address that they have in them, from a byte on: NAT64 and 6to4.
var holders = map[netip.Prefix]int{netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2}

// LeadsTo returns the address that an address leads to: one of IPv6 may have one of IPv4 in it.
func LeadsTo(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("").Unmap()
	for in, at := range holders {
		if b := ip.As16(); in.Contains(ip) {
			return netip.AddrFrom4([4]byte(b[at : at+4]))
		}
	}
	return ip
}

// Public reports whether an address is one of the internet, and leads to no machine of this network.
func Public(ip netip.Addr) bool {
	ip = LeadsTo(ip)
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}
