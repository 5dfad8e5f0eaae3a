package web

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"
)

// A login is in two halves. The cookie has the token, sealed by a key that was
// made for this login; the page keeps the key, and sends it in the header
// keyHeader. The server keeps neither.
//
// The cookie alone is worth nothing: browsers send it to every port of a host,
// also to a server that an agent has started there. Nor is the key alone, which
// is all that a script in a page could get hold of. And since no other origin
// can set the header, none can make a request in the person's name.
const keyHeader = "Stet-Key"

// loginLasts is how long a browser keeps a login. The token may end before.
const loginLasts = 30 * 24 * time.Hour

// maxLogin is how long the body of a login may be, in bytes.
const maxLogin = 4 << 10

// Login is the body of POST /api/login.
type Login struct {
	Token string `json:"token"`
}

// LoggedIn is the answer.
type LoggedIn struct {
	Person string `json:"person"`
	Key    string `json:"key"` // to be sent in the header Stet-Key
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
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	sealed, err := seal(key, in.Token)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.attempts.remember(loginOf(key, sealed))
	h.setCookie(w, r, sealed, int(loginLasts.Seconds()))
	h.reply(w, LoggedIn{Person: person, Key: base64.RawURLEncoding.EncodeToString(key)})
}

func (h *Handler) logout(w http.ResponseWriter, r *http.Request) {
	h.setCookie(w, r, "", -1)
	h.reply(w, struct{}{})
}

func (h *Handler) setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/api/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// cookieName has the port in it, since cookies of all ports are kept together.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "stet"
	}
	return "stet-" + port
}

// endpoint serves a request of a person. An error of type problem says what to
// answer.
type endpoint func(w http.ResponseWriter, r *http.Request) error

type personKey struct{}

// who is the name of the person whose request it is.
func who(ctx context.Context) string {
	name, _ := ctx.Value(personKey{}).(string)
	return name
}

// person lets those in who are logged in.
func (h *Handler) person(next endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := h.whose(r)
		if err == nil {
			err = next(w, r.WithContext(context.WithValue(r.Context(), personKey{}, name)))
		}
		if err != nil {
			h.fail(w, r, err)
		}
	})
}

func (h *Handler) whose(r *http.Request) (string, error) {
	refused := problem{http.StatusUnauthorized, "log in by the link that stet printed"}
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return "", refused
	}
	key, err := base64.RawURLEncoding.DecodeString(r.Header.Get(keyHeader))
	if err != nil {
		return "", refused
	}
	token, err := unseal(key, cookie.Value)
	if err != nil {
		return "", refused
	}
	login := loginOf(key, cookie.Value)
	if !h.attempts.knows(login) { // it may be sealed by whoever guesses tokens
		name, err := h.check(r, token)
		if err == nil {
			h.attempts.remember(login)
		}
		return name, err
	}
	name, ok := h.Authenticate(token)
	if !ok {
		return "", refused
	}
	return name, nil
}

// loginOf names a login by its two halves.
func loginOf(key []byte, sealed string) [sha256.Size]byte {
	return sha256.Sum256(append(slices.Clone(key), sealed...))
}

// seal encrypts a token. The key serves this once.
func seal(key []byte, token string) (string, error) {
	box, err := boxOf(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, []byte(token), nil)), nil
}

func unseal(key []byte, sealed string) (string, error) {
	box, err := boxOf(key)
	if err != nil {
		return "", err
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return "", err
	}
	token, err := box.Open(nil, nil, data, nil)
	return string(token), err
}

func boxOf(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, errors.New("a key has 32 bytes")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
