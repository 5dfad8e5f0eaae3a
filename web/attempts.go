package web

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// How many tokens that are none may be shown, at once and then every minute: from
// one address, and from all together. What goes beyond is not even looked at.
const (
	badOfOne = 10
	badOfAll = 100
)

// manyAddresses is how many addresses are remembered, and manyLogins how many
// logins that are good.
const (
	manyAddresses = 4096
	manyLogins    = 4096
)

// attempts limits how many tokens can be guessed. The zero attempts is ready.
type attempts struct {
	mu   sync.Mutex
	all  allowance
	of   map[string]*allowance
	good map[[sha256.Size]byte]bool
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

// begin takes one from the allowances of an address and of all, which good gives
// back. wait is above 0 where there is none left.
func (a *attempts) begin(address string) (good func(), wait time.Duration) {
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
		return nil, wait
	}
	own.used++
	a.all.used++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		own.used = max(0, own.used-1)
		a.all.used = max(0, a.all.used-1)
	}, 0
}

// remember keeps in mind that a login was good, and knows tells whether it was: a
// person who is in stays so, whoever else fails from the same address.
func (a *attempts) remember(login [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.good == nil || len(a.good) >= manyLogins {
		a.good = map[[sha256.Size]byte]bool{}
	}
	a.good[login] = true
}

func (a *attempts) knows(login [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.good[login]
}

// check says whose token it is, if not too many have failed of late.
func (h *Handler) check(r *http.Request, token string) (person string, err error) {
	address := addressOf(r)
	good, wait := h.attempts.begin(address)
	if wait > 0 {
		return "", tooMany(wait)
	}
	person, ok := h.Authenticate(token)
	if ok {
		good()
		return person, nil
	}
	h.log().Warn("login refused", "address", address)
	if h.Refused != nil {
		h.Refused(r.Context(), address)
	}
	return "", problem{http.StatusUnauthorized, "this token is not valid, or no longer"}
}

// tooMany is the error of who has to wait.
type tooMany time.Duration

func (t tooMany) Error() string {
	return fmt.Sprintf("too many logins have failed: try again in %d s", t.seconds())
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
