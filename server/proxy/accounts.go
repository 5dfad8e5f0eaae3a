package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"sync"

	"github.com/stet-dev/stet/record"
)

// maxAccounts is how many accounts are held in memory. Others are looked up in the store again.
const maxAccounts = 1000

// accounts remembers which accounts do not clear results.
type accounts struct {
	store record.Store // remembers it after the process ends; nil: it is forgotten then

	mu      sync.Mutex
	refuses map[uint64]bool // by accountOf
}

// accountOf returns a hash that identifies an account at an upstream. It is an HMAC whose key is the client's own
// key for the provider, so the hash reveals nothing without that key.
func accountOf(to endpoint, h http.Header) uint64 {
	mac := hmac.New(sha256.New, []byte(keyOf(h)))
	_, _ = mac.Write([]byte("stet: clears no results\x00" + to.upstream.Scheme + "://" + to.upstream.Host)) // a hash returns no errors
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// mayRefuse reports whether an account may not clear results: it has not done so before, or the store does not answer.
func (a *accounts) mayRefuse(ctx context.Context, account uint64) bool {
	a.mu.Lock()
	refuses, known := a.refuses[account]
	a.mu.Unlock()
	if known || a.store == nil {
		return refuses
	}
	refuses, err := a.store.Refuses(ctx, account)
	if err != nil {
		return true
	}
	a.set(account, refuses)
	return refuses
}

func (a *accounts) set(account uint64, refuses bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses == nil || len(a.refuses) >= maxAccounts {
		a.refuses = map[uint64]bool{}
	}
	a.refuses[account] = a.refuses[account] || refuses
}
