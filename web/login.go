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

// maxLogin is how long the body of a login or a hello may be, in bytes.
const maxLogin = 4 << 10

// Person is a person who may log in.
type Person struct {
	ID   string // of the token; it is no secret
	Name string
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

// ticket is what LoggedIn.Login says, as JSON in base64. The server keeps nothing
// of a login: it makes the key again from the ticket and its secret, so a ticket
// that the server has not made has a key that only the server can compute.
type ticket struct {
	Token  string    `json:"token"` // its ID
	Until  time.Time `json:"until"`
	Random string    `json:"random"` // no two logins are equal
}

func (h *Handler) login(w http.ResponseWriter, r *http.Request) {
	var in Login
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := read(w, r, &in); err != nil {
		h.fail(w, r, err)
		return
	}
	person, err := h.check(r, in.Token)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	data, err := json.Marshal(ticket{Token: person.ID, Until: time.Now().Add(loginLasts), Random: rand.Text()})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	login := encode(data)
	h.reply(w, LoggedIn{Person: person.Name, Login: login, Key: encode(h.keyOf(r, login))})
}

// logout ends the channels of the login, in every tab.
func (h *Handler) logout(w http.ResponseWriter, r *http.Request) error {
	h.channels.end(channelOf(r.Context()).login)
	h.reply(w, struct{}{})
	return nil
}

// keyOf is the key of a login. It is another one for a server on another port: who
// takes over the port of a server that has moved cannot pass on what the moved
// server proves.
func (h *Handler) keyOf(r *http.Request, login string) []byte {
	port := ""
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(address.String())
	}
	return macOf(h.secret, "key", port, login)
}

// holds is the name of the person whose login it is, if the login still holds.
func (h *Handler) holds(login string) (name string, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(login)
	if err != nil {
		return "", false
	}
	var t ticket
	if json.Unmarshal(data, &t) != nil || !time.Now().Before(t.Until) {
		return "", false
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
