package mcpserver

import (
	"net/http"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/sameorigin"
)

// guard refuses requests that may come from a web page: the Host is not a name of this machine (DNS rebinding), or the Origin is
// another site.
func (s *Server) guard(next http.Handler) http.Handler {
	check := sameorigin.Check{Hosts: s.config.HTTP.AllowedHosts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := check.Refusal(r); why != "" {
			s.log.Warn("refused", "why", why, "remote", r.RemoteAddr)
			http.Error(w, why, http.StatusForbidden)
			return
		}
		if why := limits.URL(r.URL); why != "" {
			http.Error(w, why, http.StatusBadRequest)
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
