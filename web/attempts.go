package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/ratelimit"
)

// How many wrong tokens are noted, at once and then every minute: from one address,
// and from all together. More are answered with 429, and neither logged nor recorded.
// A right token gets in, also after many wrong ones: tokens are too long to be guessed.
const (
	badOfOne = 10
	badOfAll = 100
)

// attempts limits how many wrong tokens are noted. The zero attempts is ready.
type attempts struct {
	once sync.Once
	all  *ratelimit.Limiter
	of   ratelimit.Keyed // by address
}

// fail counts a wrong token from an address. wait is above 0 where there were too many
// from it, or from all.
func (a *attempts) fail(address string) (wait time.Duration) {
	a.once.Do(func() { a.all, a.of.PerMinute = ratelimit.New(badOfAll), badOfOne })
	now := time.Now()
	if wait, _ = a.of.Take(address, now); wait == 0 {
		wait, _ = a.all.Take(now)
	}
	return wait
}

// check says whose token it is.
func (h *Handler) check(r *http.Request, token string) (Person, error) {
	if person, ok := h.Authenticate(token); ok {
		return person, nil
	}
	address := AddressOf(r)
	if wait := h.attempts.fail(address); wait > 0 {
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

// AddressOf is where a request comes from; of IPv6 the network, all addresses of
// which may be one machine's.
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
