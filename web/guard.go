package web

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// csp is what a page may do: run and show what came with it, ask this host, and
// make no text into markup. Nothing may frame it.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// guard refuses what may come from another page: a Host that is none of ours (a
// name that was rebound to this address), and requests across origins.
func (h *Handler) guard(next http.Handler) http.Handler {
	across := http.NewCrossOriginProtection()
	across.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, problem{http.StatusForbidden, "requests from other origins are refused"})
	}))
	next = across.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", csp)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if !h.ours(r.Host) {
			h.fail(w, r, problem{http.StatusForbidden, "this host name is not allowed here: use 127.0.0.1, or start stet with the name allowed"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ours reports whether the Host header of a request names this host.
func (h *Handler) ours(host string) bool {
	name := hostname(host)
	if name == "" {
		return false
	}
	if slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, name) {
		return true
	}
	return slices.ContainsFunc(h.Hosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

// hostname is the name in a Host header: without port and brackets, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
