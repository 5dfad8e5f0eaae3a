package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// loginLasts is how long a login is valid. The token may expire earlier.
const loginLasts = 30 * 24 * time.Hour

// Person is a person who may log in.
type Person struct {
	ID    string // of the token; it is not secret
	Name  string
	Admin bool // may see and change stored data, besides answering questions
}

// SignIn lets people log in with an OpenID Connect account: it serves /login/ with /login/start, and begins a session there. The
// secret in its cookie is valid for one login, because a browser sends it to all ports of the host. It may be used concurrently.
type SignIn interface {
	http.Handler
	// Name returns the name of the issuer.
	Name() string
	// Waits reports whether a request's cookie belongs to a session that was not yet taken.
	Waits(r *http.Request) bool
	// Take returns the person of that session and its end. The session is then taken.
	Take(r *http.Request) (p Person, until time.Time, ok bool)
	// End ends the session of the person with this ID, if there is one, and deletes the cookie.
	End(w http.ResponseWriter, id string)
}

// Ways says how people can log in, besides with a token.
type Ways struct {
	SignIn  string `json:"sign_in"` // name of the issuer; "": not available
	Session bool   `json:"session"` // this browser has a session: a login without a token takes it
}

func (h *Handler) ways(r *http.Request) (any, error) {
	if h.SignIn == nil {
		return Ways{}, nil
	}
	return Ways{h.SignIn.Name(), h.SignIn.Waits(r)}, nil
}

// Login is the body of POST /api/login.
type Login struct {
	Token string `json:"token"` // "": the session of the request's cookie is used
}

// LoggedIn is the answer. The page keeps Login and Key.
type LoggedIn struct {
	Person string `json:"person"`
	Login  string `json:"login"` // name of this login; it is not secret
	Key    string `json:"key"`   // the key for the proofs of page and server; it is never sent again
}

// ticket is the content of LoggedIn.Login, as JSON in base64. The server stores no logins: it computes the key of a login from the
// ticket and its secret. A page that made up a ticket would not know the key.
type ticket struct {
	Token  string    `json:"token"` // the token's ID, or that of the session
	Until  time.Time `json:"until"`
	Random string    `json:"random"` // makes logins different
}

func (h *Handler) login(r *http.Request, in Login) (any, error) {
	until := time.Now().Add(loginLasts)
	person, end, ok := h.signedIn(r, in.Token)
	if ok && end.Before(until) {
		until = end
	}
	if !ok {
		var err error
		if person, err = h.check(r, in.Token); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(ticket{Token: person.ID, Until: until, Random: rand.Text()})
	if err != nil {
		return nil, err
	}
	login := encode(data)
	return LoggedIn{Person: person.Name, Login: login, Key: encode(h.keyOf(r, login))}, nil
}

// signedIn takes the session of the request's cookie, for a login without a token.
func (h *Handler) signedIn(r *http.Request, token string) (p Person, until time.Time, ok bool) {
	if token != "" || h.SignIn == nil {
		return p, until, false
	}
	return h.SignIn.Take(r)
}

// logout ends the login in every tab with all that it has open, and the session that it came from.
func (h *Handler) logout(w http.ResponseWriter, r *http.Request) error {
	by := callerOf(r.Context())
	if by.channel == nil {
		return absent("a logout")
	}
	t, _ := ticketOf(by.channel.login) // the request was proved with it
	h.channels.end(by.channel.login, t.Until)
	if h.SignIn != nil {
		h.SignIn.End(w, by.person.ID)
	}
	if h.Push != nil {
		_ = h.Push.Remove(by.channel.login) // if it fails, the next message finds that the login has ended
	}
	return h.answered(func(*http.Request) (any, error) { return nothing{}, nil })(w, r)
}

// keyOf returns the key of a login. The port is part of it: a program that takes over the port of a server that has moved cannot
// reuse the moved server's proofs.
func (h *Handler) keyOf(r *http.Request, login string) []byte {
	port := ""
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(address.String())
	}
	return macOf(h.secret, "key", port, login)
}

// holds returns the person of a login, if it is still valid.
func (h *Handler) holds(login string) (p Person, ok bool) {
	t, ok := ticketOf(login)
	if !ok || !time.Now().Before(t.Until) {
		return p, false
	}
	return h.Holds(t.Token)
}

func ticketOf(login string) (t ticket, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(login)
	return t, err == nil && json.Unmarshal(data, &t) == nil
}

// macOf returns the MAC over parts, which must not contain line ends.
func macOf(key []byte, parts ...string) []byte {
	m := hmac.New(sha256.New, key)
	for i, p := range parts {
		if i > 0 {
			m.Write([]byte{'\n'})
		}
		m.Write([]byte(p))
	}
	return m.Sum(nil)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
