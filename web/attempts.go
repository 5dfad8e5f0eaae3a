package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// How many wrong tokens are noted, at once and then every minute: from one address,
// and from all together. More are answered with 429, and neither logged nor recorded.
// A right token gets in whatever else was tried: tokens are too long to be guessed.
const (
	badOfOne = 10
	badOfAll = 100
)

// manyAddresses is how many addresses are remembered.
const manyAddresses = 4096

// attempts limits how many wrong tokens are noted. The zero attempts is ready.
type attempts struct {
	mu  sync.Mutex
	all allowance
	of  map[string]*allowance
}

// allowance is how many failures are left: used of those of a minute, as of at.
type allowance struct {
	used float64
	at   time.Time
}

// wait is how long it takes until there is one left.
func (a *allowance) wait(now time.Time, perMinute float64) time.Duration {
	a.used = max(0, a.used-now.Sub(a.at).Minutes()*perMinute)
	a.at = now
	return time.Duration((a.used + 1 - perMinute) / perMinute * float64(time.Minute))
}

// fail takes one from the allowances of an address and of all. wait is above 0 where
// there is none left.
func (a *attempts) fail(address string) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.of == nil || len(a.of) >= manyAddresses {
		a.of = map[string]*allowance{} // the allowance of all holds on
	}
	own := a.of[address]
	if own == nil {
		own = new(allowance)
		a.of[address] = own
	}
	if wait = max(own.wait(now, badOfOne), a.all.wait(now, badOfAll)); wait > 0 {
		return wait
	}
	own.used++
	a.all.used++
	return 0
}

// check says whose token it is.
func (h *Handler) check(r *http.Request, token string) (Person, error) {
	if person, ok := h.Authenticate(token); ok {
		return person, nil
	}
	address := addressOf(r)
	if wait := h.attempts.fail(address); wait > 0 {
		return Person{}, tooMany(wait)
	}
	h.log().Warn("login refused", "address", address)
	if h.Refused != nil {
		h.Refused(r.Context(), address)
	}
	return Person{}, problem{http.StatusUnauthorized, "this token is not valid, or no longer"}
}

// tooMany is the error for a wrong token after too many others.
type tooMany time.Duration

func (t tooMany) Error() string {
	return fmt.Sprintf("this token is not valid, and too many logins have failed: try again in %d s", t.seconds())
}

func (t tooMany) seconds() int { return int(time.Duration(t).Seconds()) + 1 }

// addressOf is where a request comes from; of IPv6 the network, all addresses of
// which may be one machine's.
func addressOf(r *http.Request) string {
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
