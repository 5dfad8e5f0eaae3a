package mcpserver

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	defer s.open.leaves(o)
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

// begins counts a new session, whose first message has size bytes, in the place of one that is not in use if there are too many.
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

// leaves counts the end of a request. If the first one did not initialize the session, there is none.
func (t *openSessions) leaves(o *openSession) {
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
