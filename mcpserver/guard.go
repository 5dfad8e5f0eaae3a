package mcpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// guard refuses what may come from a web page: requests whose Host is no name
// of this machine (DNS rebinding) or whose Origin is another site.
func (s *Server) guard(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := s.refusal(r)
		if why == "" && protection.Check(r) != nil {
			why = "requests of web pages from another origin are not allowed here"
		}
		if why != "" {
			s.log.Warn("refused", "why", why, "remote", r.RemoteAddr)
			http.Error(w, why, http.StatusForbidden)
			return
		}
		if !s.gate.enter() {
			http.Error(w, "stet is shutting down", http.StatusServiceUnavailable)
			return
		}
		defer s.gate.leave()
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// refusal says why r may not be served; it is empty when r may. Safe methods
// are looked at like all others: a GET opens a stream of events.
func (s *Server) refusal(r *http.Request) string {
	name := hostname(r.Host)
	switch {
	case name == "":
		return "the request has no Host header"
	case !slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, name) && !s.allowsHost(r.Host, name):
		return fmt.Sprintf("the host %s is not allowed here: use 127.0.0.1, or start stet with this host allowed", quoted(r.Host))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return "requests of web pages from another origin are not allowed here"
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return "requests of web pages from another site are not allowed here"
	}
	return ""
}

func (s *Server) allowsHost(host, name string) bool {
	return slices.ContainsFunc(s.config.HTTP.AllowedHosts, func(allowed string) bool {
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
