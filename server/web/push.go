package web

import (
	"crypto/ecdh"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
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
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !Public(ip) {
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

// notPublic are ranges of carriers (RFC 6598), of a network's own NAT64 (RFC 8215), of Teredo (RFC 4380), of sites (RFC 3879), and of old forms of IPv4.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// holders are ranges of IPv6 whose addresses lead to an IPv4 address that they have in them, from a byte on: NAT64 and 6to4.
var holders = map[netip.Prefix]int{netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2}

// Public reports whether an address is one of the internet, and leads to no machine of this network.
func Public(ip netip.Addr) bool {
	ip = ip.WithZone("").Unmap()
	for in, at := range holders {
		if b := ip.As16(); in.Contains(ip) {
			ip = netip.AddrFrom4([4]byte(b[at : at+4]))
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
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
