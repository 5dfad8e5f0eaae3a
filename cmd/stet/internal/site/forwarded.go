package site

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of proxies in front of the server. Their headers about the client's address are trusted.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks (192.0.2.1, 10.0.0.0/8).
func ParseProxies(list []string) (Proxies, error) {
	var p Proxies
	for _, s := range list {
		prefix, err := netip.ParsePrefix(s)
		if ip, bad := netip.ParseAddr(s); bad == nil && ip.Zone() == "" {
			prefix, err = ip.Unmap().Prefix(ip.Unmap().BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("--trust-proxy: want an address or a network (10.0.0.0/8), not %q", s)
		}
		p = append(p, prefix.Masked())
	}
	return p, nil
}

func (p Proxies) have(ip netip.Addr) bool {
	return slices.ContainsFunc(p, func(of netip.Prefix) bool { return of.Contains(ip) })
}

// forwardings are the headers in which proxies name the client.
var forwardings = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto", "X-Forwarded-Server", "X-Real-Ip"}

// after sets RemoteAddr to the address of the client of the outermost proxy, and removes the headers.
func (p Proxies) after(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.RemoteAddr
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && p.have(peer.Addr().Unmap()) {
			from = p.client(r.Header.Values("X-Forwarded-For"), r.RemoteAddr)
		}
		own := r.WithContext(r.Context())
		own.RemoteAddr, own.Header = from, r.Header.Clone()
		for _, name := range forwardings {
			own.Header.Del(name)
		}
		next.ServeHTTP(w, own)
	})
}

// client returns the address of the client of our outermost proxy: the last address in the headers that is not one of our proxies.
// Any client can write the addresses before it.
func (p Proxies) client(headers []string, peer string) string {
	hops := strings.Split(strings.Join(headers, ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(hop), "[]"))
		if err != nil {
			break // the proxy named no usable address
		}
		peer = net.JoinHostPort(ip.Unmap().String(), "0")
		if !p.have(ip.Unmap()) {
			break
		}
	}
	return peer
}
