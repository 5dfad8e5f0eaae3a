package gateway

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/internal/slowbody"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Handler serves the gateway at /v1/: WebSockets at /v1/connect, and calls over
// plain HTTP (see the OpenAPI document there).
func (h *Hub) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, h.socket)
	h.routes(mux)
	return OneSlash(slowbody.Limit(Guard(mux, h.config.AllowedHosts, h.Refused), slowbody.Usual))
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
	release, over := h.config.Quotas.Begin(w, r, who)
	if over != nil {
		h.recordRefusal(who, &wire.Hello{Client: agentOf(r)}, &wire.Error{Code: string(over.Code()), Message: over.Error()})
		fail(w, over.Status(), string(over.Code()), over.Error())
		return
	}
	release()
	if !h.enterConnection() {
		fail(w, http.StatusServiceUnavailable, "host_unavailable", "the gateway is shutting down, or has too many connections")
		return
	}
	defer h.leaveConnection()
	room, err := h.hold(r.Context(), who, connectionBytes, 0)
	if err != nil {
		w.Header().Set("Retry-After", retryAfter)
		fail(w, http.StatusTooManyRequests, string(tool.RateLimited), err.Error())
		return
	}
	defer room()
	taken := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(taken, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		h.log.Info("no WebSocket", "err", err, "remote", r.RemoteAddr)
		return // Accept has already answered
	}
	_ = h.serve(h.base, &socket{ws: ws, conn: taken.conn, buffers: &h.buffers, room: h.frameRoom(who)}, who) // serve logs the error
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
			if err == nil && !h.valid(who, time.Now()) {
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
