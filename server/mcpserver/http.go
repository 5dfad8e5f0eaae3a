package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/httpguard"
)

// minToken is the minimum length of a token, because a shorter one could be guessed.
const minToken = 16

// sessionIdle is the time after which an MCP session without requests ends.
const sessionIdle = 12 * time.Hour

// Handler serves MCP over streamable HTTP at /mcp. A request needs one of the tokens and an allowed Host, and must not come from
// a page of another origin. Listen on a loopback address.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionIdle, MaxRequestBodyBytes: int64(s.config.MaxMessage),
		DisableLocalhostProtection: true, // guard checks every Host
	})
	requests := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes:        int64(s.config.MaxMessage),
		DisableLocalhostProtection: true,
	})
	byRevision := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
			requests.ServeHTTP(w, r)
			return
		}
		if id := r.Header.Get("Mcp-Session-Id"); r.Method == http.MethodDelete && id != "" {
			// The SDK would wait for the end of the calls.
			user := auth.TokenInfoFromContext(r.Context()).UserID
			s.calls.cancel(mcpSession(id), func(c *activeCall) bool { return c.user.account == user })
		}
		if s.begunElsewhere(r) {
			requests.ServeHTTP(w, r)
			return
		}
		s.inSession(w, r, sessions)
	})
	guard := httpguard.Guard{
		Check:   httpguard.Check{Hosts: s.config.HTTP.AllowedHosts},
		Refused: func(r *http.Request, why string) { s.log.Warn("refused", "why", why, "remote", r.RemoteAddr) },
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", httpguard.LimitPauses(guard.Before(s.whileOpen(s.authorised(s.bounded(byRevision)))), httpguard.Pause))
	return mux
}

// whileOpen serves requests until the server is closed, which waits for them.
func (s *Server) whileOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.gate.enter() {
			http.Error(w, "stet is shutting down", http.StatusServiceUnavailable)
			return
		}
		defer s.gate.leave()
		next.ServeHTTP(w, r)
	})
}

// begunElsewhere reports whether a request belongs to a session of another server.
func (s *Server) begunElsewhere(r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	if !s.config.HTTP.Elsewhere || id == "" || r.Method == http.MethodDelete {
		return false
	}
	for session := range s.mcp.Sessions() {
		if session.ID() == id {
			return false
		}
	}
	return true
}

// authorised passes on requests with an allowed token. An MCP session belongs to the token that created it: the SDK compares the
// UserID.
func (s *Server) authorised(next http.Handler) http.Handler {
	sums := make([][sha256.Size]byte, len(s.config.HTTP.Tokens))
	for i, token := range s.config.HTTP.Tokens {
		sums[i] = sha256.Sum256([]byte(token))
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		sum, found := sha256.Sum256([]byte(token)), 0
		for _, allowed := range sums { // compares all tokens, so that the time reveals nothing
			found |= subtle.ConstantTimeCompare(sum[:], allowed[:])
		}
		account := digest("token", token)
		if found != 1 {
			ok := false
			if allow := s.config.HTTP.Allow; allow != nil {
				account, ok = allow(token)
			}
			if !ok {
				return nil, auth.ErrInvalidToken
			}
		}
		return &auth.TokenInfo{UserID: account}, nil
	}
	known := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		why := ""
		if !strings.EqualFold(scheme, "Bearer") {
			why = "a bearer token is needed: send the one that stet was started with as \"Authorization: Bearer TOKEN\""
		} else if _, err := verify(r.Context(), strings.TrimSpace(token), r); err != nil {
			why = "the bearer token is not the one that stet was started with"
		}
		if why != "" {
			s.log.Warn("refused", "why", why, "remote", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="stet"`)
			http.Error(w, why, http.StatusUnauthorized)
			return
		}
		known.ServeHTTP(w, r)
	})
}
