package site

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/stet-dev/stet/server/web"
)

// Cookies are for this host and need TLS (browsers make an exception for the loopback). SameSite Lax: a link on another site opens
// the page with the cookie, but a POST from another site's page has no cookie.
const (
	transitCookie = "__Host-stet-login"
	sessionCookie = "__Host-stet-session"
)

func setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(lasts.Seconds()), HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
	})
}

// forget deletes a cookie.
func forget(w http.ResponseWriter, name string) { setCookie(w, name, "", -time.Second) }

// transit is the state of a login that the browser keeps while it is at the issuer.
type transit struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // for PKCE
	Until    time.Time `json:"until"`
}

// transitLasts is how long a person may take at the issuer.
const transitLasts = 10 * time.Minute

func newTransit() transit {
	return transit{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), time.Now().Add(transitLasts)}
}

func (t transit) keep(w http.ResponseWriter) {
	data, _ := json.Marshal(t) // strings and a time always marshal
	setCookie(w, transitCookie, base64.RawURLEncoding.EncodeToString(data), transitLasts)
}

// transitOf returns the login that this browser began.
func transitOf(r *http.Request) (t transit, ok bool) {
	c, err := r.Cookie(transitCookie)
	if err != nil {
		return t, false
	}
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(data, &t) != nil {
		return t, false
	}
	return t, t.State != "" && t.Nonce != "" && t.Verifier != "" && time.Now().Before(t.Until)
}

// mostLogins is the limit of sessions. When it is exceeded, the session with the earliest end is ended.
const mostLogins = 4096

// login is the session of a person who has logged in.
type login struct {
	person web.Person
	until  time.Time
	enter  time.Time // until when the page may take the session with its cookie; zero: it has taken it
}

// enterLasts is how long a session's cookie is valid until the page takes the session. A browser sends the cookie to every port of
// this host, so it can be used only once.
const enterLasts = 5 * time.Minute

// logins has the sessions of this process, by the ID of the person. Its zero value is ready to use.
type logins struct {
	mu sync.Mutex
	by map[string]login
}

// idOf returns the name of a session, which is not secret.
func idOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "oidc-" + hex.EncodeToString(sum[:12])
}

func (s *logins) begin(w http.ResponseWriter, p web.Person, lasts time.Duration) {
	secret := rand.Text() + rand.Text()
	p.ID = idOf(secret)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]login{}
	}
	first := ""
	for id, one := range s.by {
		switch {
		case !now.Before(one.until):
			delete(s.by, id)
		case first == "" || one.until.Before(s.by[first].until):
			first = id
		}
	}
	if len(s.by) >= mostLogins {
		delete(s.by, first)
	}
	s.by[p.ID] = login{p, now.Add(lasts), now.Add(enterLasts)}
	setCookie(w, sessionCookie, secret, min(lasts, enterLasts))
}

// Waits reports whether a request has the cookie of a session that the page has not yet taken.
func (s *signIn) Waits(r *http.Request) bool {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return false
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	one, ok := s.sessions.find(idOf(c.Value))
	return ok && time.Now().Before(one.enter)
}

// Take returns the person whose session cookie a request has, and the end of the session. A session can be taken once.
func (s *signIn) Take(r *http.Request) (p web.Person, until time.Time, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return p, until, false
	}
	id := idOf(c.Value)
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	one, ok := s.sessions.find(id)
	if !ok || !time.Now().Before(one.enter) {
		return p, until, false
	}
	one.enter = time.Time{}
	s.sessions.by[id] = one
	return one.person, one.until, true
}

// Holds returns the person of the session with that ID, if it has not ended.
func (s *signIn) Holds(id string) (p web.Person, ok bool) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	one, ok := s.sessions.find(id)
	return one.person, ok
}

// find returns the session with that ID, if it has not ended. The caller holds mu.
func (s *logins) find(id string) (one login, ok bool) {
	if one, ok = s.by[id]; !ok || !time.Now().Before(one.until) {
		return login{}, false
	}
	return one, true
}

// End ends a session, and deletes its cookie.
func (s *signIn) End(w http.ResponseWriter, id string) {
	s.sessions.mu.Lock()
	delete(s.sessions.by, id)
	s.sessions.mu.Unlock()
	forget(w, sessionCookie)
}
