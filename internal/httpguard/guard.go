// Package httpguard checks HTTP requests before their handler has them: where they come from ([Check]), how long their URL is, and
// whether their body stops arriving ([Body]).
package httpguard

import (
	"net/http"

	"github.com/stet-dev/stet/internal/limits"
)

// Guard refuses requests that may come from another site's page, with status 403, and requests whose URL is too long, with 400. Its
// answers and those of the handler are not stored in caches unless the handler says otherwise.
type Guard struct {
	Check
	// Refused is called for a request that may come from another site's page; why is a sentence for people. It may be nil.
	Refused func(r *http.Request, why string)
	// Fail answers a refused request; nil: with text.
	Fail func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// Before returns next after the guard.
func (g Guard) Before(next http.Handler) http.Handler {
	fail := g.Fail
	if fail == nil {
		fail = func(w http.ResponseWriter, _ *http.Request, status int, why string) { http.Error(w, why, status) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if why := g.Refusal(r); why != "" {
			if g.Refused != nil {
				g.Refused(r, why)
			}
			fail(w, r, http.StatusForbidden, why)
			return
		}
		if why := limits.URL(r.URL); why != "" {
			fail(w, r, http.StatusBadRequest, why)
			return
		}
		next.ServeHTTP(w, r)
	})
}
