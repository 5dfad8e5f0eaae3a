package proxy

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/record"
)

// Some providers let a request pass in which something before thinking has changed; that goes by the account. With
// Config.TryBound it is tried, at cold points only: there it is worth most, and there a change costs no cache. The
// provider says at once whether it takes it. If not, the request goes as it would have without the try, before
// the client hears of it, and nothing more is tried with this account.

// maxAccounts is how many accounts are held. Others are looked up again.
const maxAccounts = 1000

// accounts remembers which accounts had something refused that was tried.
type accounts struct {
	store record.Store // that remembers it after the end of the process; nil: none does

	mu      sync.Mutex
	refuses map[uint64]bool // by accountOf
}

// accountOf is a hash that tells an account with an upstream from others: an HMAC whose key is the client's own
// key for the provider. Without that key it says nothing. what names what the account refuses.
func accountOf(what string, to endpoint, h http.Header) uint64 {
	mac := hmac.New(sha256.New, []byte(keyOf(h)))
	_, _ = mac.Write([]byte("stet: " + what + "\x00" + to.upstream.Scheme + "://" + to.upstream.Host)) // a hash returns no errors
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// mayRefuse reports whether an account is known to have refused a try. It does too where the store does not say.
func (a *accounts) mayRefuse(ctx context.Context, account uint64) bool {
	a.mu.Lock()
	refuses, known := a.refuses[account]
	a.mu.Unlock()
	if known || a.store == nil {
		return refuses
	}
	at, _, err := a.store.SentForms(ctx, []uint64{account})
	if err != nil {
		return true
	}
	a.set(account, len(at) > 0)
	return len(at) > 0
}

func (a *accounts) set(account uint64, refuses bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses == nil || len(a.refuses) >= maxAccounts {
		a.refuses = map[uint64]bool{}
	}
	a.refuses[account] = a.refuses[account] || refuses
}

// mayTry reports whether a request may change what was sent before its thinking, if it is a cold point. It must be one
// that the provider refuses at once if it refuses such a change at all, and does not answer with thinking dropped.
func (p *Proxy) mayTry(x *exchange, d *reading, h http.Header) bool {
	if !p.config.TryBound || p.unchanged || d.request == nil || d.api != record.Messages || x.body.continues() ||
		!p.rules.of(d.api, d.model).checks || cachestate.FirstThinking(d.request) < 0 || bytes.Contains(x.body.head, []byte(`"block_binding"`)) ||
		d.forms.likeliest().Drops {
		return false
	}
	x.account = accountOf("refuses a change before thinking", x.endpoint, h)
	ctx, cancel := context.WithTimeout(p.base, maxLookUp)
	defer cancel()
	return !p.accounts.mayRefuse(ctx, x.account)
}

// tries reports whether a request changes what was sent before thinking.
func (d *reading) tries() bool { return d.asked.Tries && !d.clears && d.verdict.New != "" }

// giveUp handles a request whose try was refused: it is decided again without a try. The account is remembered. It reports whether
// the request is now sent in another form.
func (p *Proxy) giveUp(x *exchange, d *reading) bool {
	p.log.Info("the provider lets nothing change before thinking: with this account nothing more is tried", "upstream", x.upstream.Host, "model", x.row.Model)
	p.accounts.set(x.account, true)
	stored := p.store(record.Batch{Places: []record.SentPlace{{Place: x.account, Time: time.Now()}}}, nil)
	if x.sent != nil {
		p.cache.Rollback(x.sent)
		x.sent = nil
	}
	tried := d.plan
	d.asked.Tries, d.plan = false, nil
	x.omissions, x.body.patched = nil, nil
	if why := p.decide(x, d, planned); why != planned {
		p.passed(x, why)
	} else {
		p.report(x, d)
	}
	p.writer.wait(stored)
	return !d.sameBound(tried)
}
