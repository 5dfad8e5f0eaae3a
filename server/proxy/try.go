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

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
)

// Some providers permit a change before thinking, depending on the account. With Config.TryBound such a change is tried, but only at
// cold points: there it saves most, and costs no cache. The provider accepts or refuses at once. If it refuses, the request is sent as it
// would have been without the try, before the client gets an answer. Nothing more is tried with this account.

// maxAccounts is how many accounts are held in memory. Others are looked up in the store again.
const maxAccounts = 1000

// accounts remembers which accounts had a try refused.
type accounts struct {
	store record.Store // remembers it after the process ends; nil: it is forgotten then

	mu      sync.Mutex
	refuses map[uint64]bool // by accountOf
}

// accountOf returns a hash that identifies an account at an upstream. It is an HMAC whose key is the client's own
// key for the provider, so the hash reveals nothing without that key. what names the feature that the account refuses.
func accountOf(what string, to endpoint, h http.Header) uint64 {
	mac := hmac.New(sha256.New, []byte(keyOf(h)))
	_, _ = mac.Write([]byte("stet: " + what + "\x00" + to.upstream.Scheme + "://" + to.upstream.Host)) // a hash returns no errors
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// mayRefuse reports whether an account may refuse a try: it has refused one before, or the store does not answer.
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

// mayTry reports whether a request, at a cold point, may change messages before its thinking. The provider must refuse such a request at
// once if it refuses the change at all; it must not answer with thinking dropped.
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

// tries reports whether a request changes messages that were sent before thinking.
func (d *reading) tries() bool { return d.asked.Tries && !d.clears && d.verdict.New != "" }

// giveUp handles a request whose try was refused. It remembers the account and decides the request again without a try. It reports whether
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
