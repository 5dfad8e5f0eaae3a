package gateway

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stet-dev/stet/gateway/wire"
)

// Guard refuses what may come from a web page of somebody else's: requests whose
// Host is no name of this machine or of allowed (DNS rebinding), and those with an
// Origin that is another site. refused is told why; it may be nil.
func Guard(next http.Handler, allowed []string, refused func(r *http.Request, why string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := refusal(r, allowed); why != "" {
			if refused != nil {
				refused(r, why)
			}
			fail(w, http.StatusForbidden, wire.Forbidden, why)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// refusal says why a request may not be served; it is empty when it may. Safe
// methods are looked at like all others: a GET opens a WebSocket.
func refusal(r *http.Request, allowed []string) string {
	name := hostname(r.Host)
	local := []string{"127.0.0.1", "localhost", "::1"}
	isAllowed := func(a string) bool {
		return strings.EqualFold(a, r.Host) || strings.EqualFold(strings.Trim(a, "[]"), name)
	}
	switch {
	case name == "":
		return "the request has no Host header"
	case !slices.Contains(local, name) && !slices.ContainsFunc(allowed, isAllowed):
		return "this host name is not allowed here: use 127.0.0.1, or start stet with the name allowed"
	}
	for _, origin := range r.Header.Values("Origin") {
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

// hostname is the name in a Host header: without port and brackets, in lower
// case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// fail answers a request with an error.
func fail(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, &wire.Error{Code: code, Message: message})
}

// answer answers a request with a frame, or another value, as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	var b []byte
	var err error
	if f, ok := v.(wire.Frame); ok {
		b, err = wire.Append(nil, f)
	} else {
		b, err = json.Marshal(v)
	}
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}
