package web

import (
	"net/http"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/sameorigin"
)

// csp is the page's content security policy: it may run and show only its own files and connect to this host, and cannot make
// markup from text. No other page may frame it.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// guard refuses requests that may come from another page: an unknown Host (a rebound name), and requests across origins. A link on
// another site may open the UI.
func (h *Handler) guard(next http.Handler) http.Handler {
	check := sameorigin.Check{Hosts: h.Hosts, Links: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", csp)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if why := check.Refusal(r); why != "" {
			h.fail(w, r, problem{http.StatusForbidden, why})
			return
		}
		if why := limits.URL(r.URL); why != "" {
			h.fail(w, r, problem{http.StatusBadRequest, why})
			return
		}
		next.ServeHTTP(w, r)
	})
}
