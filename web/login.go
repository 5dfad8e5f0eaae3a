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

// loginLasts is how long a login holds. The token may end before.
const loginLasts = 30 * 24 * time.Hour

// Person is a person who may log in.
type Person struct {
	ID    string // of the token; it is no secret
	Name  string
	Admin bool // sees and changes what is stored, besides answering questions
}

// Login is the body of POST /api/login.
type Login struct {
	Token string `json:"token"`
}

// LoggedIn is the answer. The page keeps Login and Key.
type LoggedIn struct {
	Person string `json:"person"`
	Login  string `json:"login"` // names this login; it is no secret
	Key    string `json:"key"`   // what the page and the server prove themselves by; it is never sent again
}

// ticket is what LoggedIn.Login says, as JSON in base64. The server stores no logins:
// it computes the key of a login from the ticket and its secret. A page that made up
// its own ticket would not know the key.
type ticket struct {
	Token  string    `json:"token"` // its ID
	Until  time.Time `json:"until"`
	Random string    `json:"random"` // no two logins are equal
}

func (h *Handler) login(r *http.Request, in Login) (any, error) {
	person, err := h.check(r, in.Token)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(ticket{Token: person.ID, Until: time.Now().Add(loginLasts), Random: rand.Text()})
	if err != nil {
		return nil, err
	}
	login := encode(data)
	return LoggedIn{Person: person.Name, Login: login, Key: encode(h.keyOf(r, login))}, nil
}

// logout ends the channels of the login, in every tab.
func (h *Handler) logout(r *http.Request) (any, error) {
	h.channels.end(callerOf(r.Context()).channel.login)
	return nothing{}, nil
}

// keyOf is the key of a login. The port is a part of it: a program that takes over the
// port of a server that has moved cannot pass on what the moved server proves.
func (h *Handler) keyOf(r *http.Request, login string) []byte {
	port := ""
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(address.String())
	}
	return macOf(h.secret, "key", port, login)
}

// holds is the person whose login it is, if the login still holds.
func (h *Handler) holds(login string) (p Person, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(login)
	if err != nil {
		return p, false
	}
	var t ticket
	if json.Unmarshal(data, &t) != nil || !time.Now().Before(t.Until) {
		return p, false
	}
	return h.Holds(t.Token)
}

// macOf is the MAC over parts without line ends.
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
