package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Handler serves the gateway at /v1/: WebSockets at /v1/connect, and calls over
// plain HTTP (see the OpenAPI document there).
func (h *Hub) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, h.socket)
	h.routes(mux)
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		none := &statusOnly{header: w.Header(), status: http.StatusOK}
		own.ServeHTTP(none, r)
		fail(w, none.status, string(tool.InvalidArgument), "there is nothing at "+r.Method+" "+r.URL.Path+"; GET /v1/openapi.json says what there is")
	})
	return OneSlash(httpguard.LimitPauses(h.Guard(all), httpguard.Pause))
}

// statusOnly takes an answer without its body.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// Guard refuses requests to next that may come from another site's web page, and records that. Other handlers on the port use it too.
func (h *Hub) Guard(next http.Handler) http.Handler {
	return httpguard.Guard{
		Check: httpguard.Check{Hosts: h.config.AllowedHosts}, Refused: h.Refused,
		Fail: func(w http.ResponseWriter, _ *http.Request, status int, why string) {
			code := wire.Malformed
			if status == http.StatusForbidden {
				code = wire.Forbidden
			}
			fail(w, status, code, why)
		},
	}.Before(next)
}

// WebSocket subprotocols with which a browser connects: the protocol's name, and the token after a prefix. A browser cannot set the
// Authorization header.
const (
	subprotocol = "stet.v1"
	tokenPrefix = "stet.token."
)

// socket serves one WebSocket.
func (h *Hub) socket(w http.ResponseWriter, r *http.Request) {
	who, ok := h.identify(w, r)
	if !ok {
		return
	}
	if !h.enterConnection() {
		fail(w, http.StatusServiceUnavailable, "host_unavailable", "the gateway is shutting down, or has too many connections")
		return
	}
	defer h.leaveConnection()
	capacity, err := h.hold(r.Context(), who, connectionBytes, 0)
	if err != nil {
		w.Header().Set("Retry-After", retryAfter)
		fail(w, http.StatusTooManyRequests, string(tool.RateLimited), err.Error())
		return
	}
	defer capacity()
	taken := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(taken, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		h.log.Info("no WebSocket", "err", err, "remote", r.RemoteAddr)
		return // Accept has already answered
	}
	_ = h.serve(h.base, &socket{ws: ws, conn: taken.conn, buffers: &h.buffers, capacity: h.frameBytes(who)}, who) // serve logs the error
	_ = ws.CloseNow()
}

// hijacked is a ResponseWriter that remembers the connection that was taken from it.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (w *hijacked) Hijack() (c net.Conn, rw *bufio.ReadWriter, err error) {
	c, rw, err = http.NewResponseController(w.ResponseWriter).Hijack()
	w.conn = c
	return c, rw, err
}

// identify returns the identity of a request's token. If there is none, it answers the request and returns false.
func (h *Hub) identify(w http.ResponseWriter, r *http.Request) (Identity, bool) {
	token := Bearer(r)
	why := "a token is needed: send it as \"Authorization: Bearer TOKEN\"; a client certificate stands for one where stet serve has --client-ca"
	if token != "" {
		why = ErrToken.Error()
		if h.config.Authority != nil {
			who, err := h.config.Authority.Identify(token)
			if err == nil && !h.clients.valid(who, time.Now()) {
				err = errExpired
			}
			if err == nil {
				return who, true
			}
			why = err.Error()
		}
	}
	h.Refused(r, why)
	w.Header().Set("WWW-Authenticate", `Bearer realm="stet"`)
	fail(w, http.StatusUnauthorized, wire.Forbidden, why)
	return Identity{}, false
}

// Bearer returns the bearer token of a request, or "".
func Bearer(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	for _, value := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(value, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(p), tokenPrefix); ok {
				return token
			}
		}
	}
	return ""
}

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
