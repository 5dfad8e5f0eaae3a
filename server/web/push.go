package web

import (
	"crypto/ecdh"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/stet-dev/stet/internal/httpguard"
)

// Push keeps the browsers that get messages about questions, each for a login, and sends to them. It may be used concurrently.
type Push interface {
	// Key returns the public key by which a push service knows this server, in base64url.
	Key() (string, error)
	// Add keeps the browser of a login, in place of what the login had before.
	Add(login, person, endpoint, key, auth string) error
	// Remove forgets the browser of a login, if there is one.
	Remove(login string) error
}

// PushKey is the answer of GET /api/push.
type PushKey struct {
	Key string `json:"key"`
}

// Subscription is a browser's own account of where it gets messages, and how they are encrypted, in base64url: PushSubscription.toJSON.
type Subscription struct {
	Endpoint string `json:"endpoint" max:"2048"`
	Keys     struct {
		P256dh string `json:"p256dh"` // a public key
		Auth   string `json:"auth"`   // a secret
	} `json:"keys"`
}

// check returns an error unless messages can be sent there: to the https address of another machine, with valid keys. A name's address is checked
// when the server connects to it.
func (s Subscription) check() error {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Hostname() == "localhost" {
		return invalid("endpoint: want the https:// address of a push service")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !httpguard.Public(ip) {
		return invalid("endpoint: a push service has a public address")
	}
	key, err := base64.RawURLEncoding.DecodeString(s.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if auth, of := base64.RawURLEncoding.DecodeString(s.Keys.Auth); err != nil || of != nil || len(auth) != 16 {
		return invalid("keys: want a public key of the curve P-256 and a secret of 16 bytes, in base64url")
	}
	return nil
}

func (h *Handler) pushKey(*http.Request) (any, error) {
	key, err := h.Push.Key()
	return PushKey{key}, err
}

// subscribe keeps the browser of a request's login.
func (h *Handler) subscribe(r *http.Request, in Subscription) (any, error) {
	by := callerOf(r.Context())
	if by.channel == nil {
		return nil, absent("a message to a program")
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	err := h.Push.Add(by.channel.login, by.person.Name, in.Endpoint, in.Keys.P256dh, in.Keys.Auth)
	if !h.channels.use(by.channel) { // a logout came first
		return h.unsubscribe(r)
	}
	return nothing{}, err
}

// unsubscribe forgets the browser of a request's login.
func (h *Handler) unsubscribe(r *http.Request) (any, error) {
	if c := callerOf(r.Context()).channel; c != nil {
		return nothing{}, h.Push.Remove(c.login)
	}
	return nothing{}, nil
}

// Reads reports whether the person of a login may read a question, about an agent's own tool (native) or another one. known is false if the
// login has ended or has no right any more.
func (h *Handler) Reads(login string, native bool) (may, known bool) {
	p, known := h.holds(login)
	return known && (!native || p.Admin), known
}
