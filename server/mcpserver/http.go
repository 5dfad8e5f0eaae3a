package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/rpclines"
)

// MCP over HTTP: who may ask, what a body may hold, and the open sessions of a token.

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

// maxEnvelope is the limit of a message without the arguments of a call, in bytes. Bodies up to this size take nothing of the memory
// budget.
const maxEnvelope = 64 << 10

// bodyPatience is how long a body waits for capacity in the memory budget.
const bodyPatience = 5 * time.Second

// bounded reads the bodies of requests, and passes them on if what the client chose in them has the size that oversize allows.
// Otherwise the SDK would keep it.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{sessionHeader, "Mcp-Protocol-Version", "Last-Event-ID"} {
			if n := len(r.Header.Get(name)); n > limits.Name {
				http.Error(w, fmt.Sprintf("%s has %d bytes, at most %d", name, n, limits.Name), http.StatusBadRequest)
				return
			}
		}
		if r.Method != http.MethodPost || r.Body == nil {
			next.ServeHTTP(w, r)
			return
		}
		size := r.ContentLength
		if most := int64(s.config.MaxMessage); size < 0 || size > most {
			size = most
		}
		release := func() {}
		if size > maxEnvelope {
			ctx, cancel := context.WithTimeout(r.Context(), bodyPatience)
			var err error
			release, err = limits.Acquire(ctx, size, s.memory.Of(auth.TokenInfoFromContext(r.Context()).UserID), s.config.Memory)
			cancel()
			if err != nil {
				w.Header().Set("Retry-After", "5")
				http.Error(w, "stet holds too many bytes for other calls: try again in 5 s", http.StatusServiceUnavailable)
				return
			}
		}
		release = sync.OnceFunc(release)
		defer release()
		body, status, why := s.body(w, r)
		if why != "" {
			http.Error(w, why, status)
			return
		}
		own := r.WithContext(r.Context())
		own.Body, own.ContentLength = &heldBody{Reader: bytes.NewReader(body), release: release}, int64(len(body))
		next.ServeHTTP(w, own)
	})
}

// body returns the body of a request, or what is wrong with it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, status int, why string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.config.MaxMessage)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body exceeds %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, fmt.Sprintf("no byte of the body arrived for %v", httpguard.Pause)
	case err != nil:
		return nil, http.StatusBadRequest, "the body was not read"
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return nil, http.StatusBadRequest, "this is a batch: send its messages one by one"
	}
	return body, http.StatusRequestEntityTooLarge, oversize(body)
}

// heldBody is a body in memory. At its end it is dropped, and its capacity is given back, because the SDK has a copy then.
type heldBody struct {
	*bytes.Reader
	release func()
}

// Read implements io.Reader.
func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.Reader = bytes.NewReader(nil)
		b.release()
	}
	return n, err
}

// Close implements io.Closer.
func (b *heldBody) Close() error { return nil }

// oversize says what in a message is too long; "": nothing. The arguments of a call have no limit but that of the message.
func oversize(body []byte) string {
	return rpclines.Oversize(body, maxEnvelope, map[string]string{callMethod: "arguments"})
}

// Limits of the open sessions of one token. A session also counts in HTTP.Held, with sessionBytes and its first message.
const (
	maxSessions  = 256
	sessionBytes = 24 << 10
)

const sessionHeader = "Mcp-Session-Id"

// openSessions are the MCP sessions over HTTP. A token that begins one too many ends the one
// that it has not used for longest. A session with a request under way, or with a stream, is in use.
type openSessions struct {
	mu sync.Mutex
	of map[string][]*openSession // by account
}

type openSession struct {
	account, id string
	used        time.Time // when its last request ended
	requests    int       // under way
	release     func()    // gives back what it holds
	session     *mcp.ServerSession
}

// inSession serves a request of a session, or the first request of a new one.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request, next http.Handler) {
	account := auth.TokenInfoFromContext(r.Context()).UserID
	o, ok := s.open.find(account, r.Header.Get(sessionHeader)), true
	if o == nil && r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" {
		if o, ok = s.begins(account, r.ContentLength); !ok {
			s.log.Warn("refused", "why", "too many sessions", "remote", r.RemoteAddr)
			w.Header().Set("Retry-After", "5")
			http.Error(w, "this token has as many sessions under way as it may: end some of them, or try again in 5 s", http.StatusTooManyRequests)
			return
		}
	}
	if o == nil { // the SDK says that there is no such session
		next.ServeHTTP(w, r)
		return
	}
	defer s.open.answered(o)
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), openKey{}, o)))
}

// openKey is the key of the *openSession in the context of the first request of a session, and of the session's later requests.
type openKey struct{}

// find returns the session of a token with that id, and counts a request of it; nil: there is none.
func (t *openSessions) find(account, id string) *openSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.of[account] {
		if o.id == id && id != "" {
			o.requests++
			return o
		}
	}
	return nil
}

// begins counts a new session, whose first message has size bytes, instead of one that is not in use if there are too many.
func (s *Server) begins(account string, size int64) (o *openSession, ok bool) {
	for {
		t := &s.open
		t.mu.Lock()
		all := t.of[account]
		if len(all) < maxSessions {
			if release, err := s.config.HTTP.Held.TryAcquire(account, sessionBytes+2*max(size, 0)); err == nil {
				if t.of == nil {
					t.of = map[string][]*openSession{}
				}
				o = &openSession{account: account, requests: 1, release: release}
				t.of[account] = append(all, o)
				t.mu.Unlock()
				return o, true
			}
		}
		idle := slices.DeleteFunc(slices.Clone(all), func(o *openSession) bool { return o.requests > 0 || o.session == nil })
		t.mu.Unlock()
		if len(idle) == 0 {
			return nil, false
		}
		oldest := slices.MinFunc(idle, func(a, b *openSession) int { return a.used.Compare(b.used) })
		s.open.remove(oldest)
		s.calls.cancel(mcpSession(oldest.id), func(*activeCall) bool { return true }) // Close waits for calls that the client has left
		_ = oldest.session.Close()                                                    // an error means that the client has disconnected
	}
}

// answered counts the end of a request. If the first one did not initialize the session, there is none.
func (t *openSessions) answered(o *openSession) {
	t.mu.Lock()
	o.requests--
	o.used = time.Now()
	began := o.session != nil
	t.mu.Unlock()
	if !began {
		t.remove(o)
	}
}

// initialized notes the session that a request with the context ctx begins, before the client hears of it, and waits for its end.
func (s *Server) initialized(ctx context.Context, session mcp.Session) {
	o, _ := ctx.Value(openKey{}).(*openSession)
	begun, ok := session.(*mcp.ServerSession)
	if o == nil || !ok || !s.gate.enter() {
		return
	}
	s.open.mu.Lock()
	again := o.session != nil
	o.id, o.session = begun.ID(), begun
	s.open.mu.Unlock()
	if again {
		s.gate.leave()
		return
	}
	go func() {
		defer s.gate.leave()
		_ = begun.Wait() // the reason of the end does not matter
		s.open.remove(o)
		s.calls.endSession(mcpSession(o.id))
		s.end(mcpSession(o.id))
	}()
}

// remove forgets a session. More calls do nothing.
func (t *openSessions) remove(o *openSession) {
	o.release()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[o.account] = slices.DeleteFunc(t.of[o.account], func(other *openSession) bool { return other == o })
	if len(t.of[o.account]) == 0 {
		delete(t.of, o.account)
	}
}
