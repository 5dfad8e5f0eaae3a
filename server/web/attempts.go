package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Limits of recorded wrong tokens in any minute: from one address, and from all addresses. Further wrong tokens
// get status 429, and are neither logged nor recorded. A right token is accepted even after many wrong ones: tokens are too long to
// be guessed.
const (
	badOfOne = 10
	badOfAll = 100
)

// check returns the person of a token.
func (h *Handler) check(r *http.Request, token string) (Person, error) {
	if person, ok := h.Authenticate(token); ok {
		return person, nil
	}
	address := AddressOf(r)
	if wait, _ := h.attempts.Take(address, time.Now()); wait > 0 {
		return Person{}, tooMany(wait)
	}
	h.log().Warn("login refused", "address", address)
	if h.Refused != nil {
		h.Refused(r.Context(), address)
	}
	return Person{}, problem{http.StatusUnauthorized, "this token is not valid, not any longer, or not for the page: that is for the roles approver and admin"}
}

// tooMany is the error for a wrong token after too many others.
type tooMany time.Duration

func (t tooMany) Error() string {
	return fmt.Sprintf("this token is not valid, and too many logins have failed: try again in %d s", t.seconds())
}

func (t tooMany) seconds() int { return int(time.Duration(t).Seconds()) + 1 }

// AddressOf returns the address of a request's client. For IPv6 it returns the network, because one machine may have all its
// addresses.
func AddressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
