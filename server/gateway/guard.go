package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/sameorigin"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// Guard refuses requests that may come from another site's web page. It refuses a Host that is neither a name of this machine nor
// in allowed (DNS rebinding), and an Origin of another site. refused receives the reason; it may be nil.
func Guard(next http.Handler, allowed []string, refused func(r *http.Request, why string)) http.Handler {
	check := sameorigin.Check{Hosts: allowed}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := check.Refusal(r); why != "" {
			if refused != nil {
				refused(r, why)
			}
			fail(w, http.StatusForbidden, wire.Forbidden, why)
			return
		}
		if why := limits.URL(r.URL); why != "" {
			fail(w, http.StatusBadRequest, wire.Malformed, why)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// OneSlash replaces several slashes in a request's path by one. Otherwise the mux would answer with a redirect, and clients do not
// send a body again after a redirect. An escaped slash (%2F) is part of a name and stays.
func OneSlash(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.EscapedPath(); strings.Contains(path, "//") {
			own, to := r.WithContext(r.Context()), *r.URL
			to.RawPath = slashes.ReplaceAllString(path, "/")
			to.Path, _ = url.PathUnescape(to.RawPath) // RawPath was escaped by the same rules
			own.URL, r = &to, own
		}
		next.ServeHTTP(w, r)
	})
}

var slashes = regexp.MustCompile("//+")

// Fail answers a request with an error in the gateway's format. code is a code of package wire or of package tool.
func Fail(w http.ResponseWriter, status int, code, message string) { fail(w, status, code, message) }

// fail answers a request with an error.
func fail(w http.ResponseWriter, status int, code, message string) {
	_ = answer(w, status, &wire.Error{Code: code, Message: message}) // the client may be gone
}

// answer sends a frame or another value as JSON. The error says that the client did not receive it.
func answer(w http.ResponseWriter, status int, v any) error {
	var body wire.Encoded
	var err error
	if f, ok := v.(wire.Frame); ok {
		body, err = wire.Encode(f)
	} else {
		body.Head, err = json.Marshal(v)
	}
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	for _, piece := range [][]byte{body.Head, body.Body, body.Tail, {'\n'}} {
		if err := writeSlowly(w, piece); err != nil {
			return err
		}
	}
	return nil
}

// writeSlowly writes b as long as the client continues to read.
func writeSlowly(w http.ResponseWriter, b []byte) error {
	clock := http.NewResponseController(w)
	for chunk := range slices.Chunk(b, 256<<10) {
		if err := clock.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
