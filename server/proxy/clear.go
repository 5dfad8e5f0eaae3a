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

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Some providers check what is before thinking. They can clear old tool results themselves. The messages sent do not change then, so
// the provider refuses nothing. Under adaptive and bold, requests ask for that from a cold point on (trim.Config.Clears).
// A server that does not know the option may refuse the request. Then the request is sent again without it, before the client gets an
// answer, and the account is remembered. The account is also remembered if the answer does not say that results were cleared.

// clearing describes what a request asks the provider to clear.
type clearing struct {
	calls   int    // number of calls whose results are to be cleared
	account uint64 // by accountOf
}

// mayClear reports whether the provider may be asked to clear results of a request. New results are cleared only if the policy allows
// it. Results that it was asked to clear before are cleared under any policy.
func (p *Proxy) mayClear(x *exchange, d *reading, h http.Header) bool {
	more := !p.unchanged && p.policy.Clears()
	if p.config.KeepResults || d.request == nil || d.api != llm.Messages || !d.earlier.bound || !more && d.earlier.likeliest().Form.Empty() ||
		!x.direct || d.request.Thread != "" || x.body.turn != nil || hasServerTools(x.body.head) {
		return false
	}
	x.clearing.account = accountOf(x.endpoint, h)
	ctx, cancel := context.WithTimeout(p.base, maxLookUp)
	defer cancel()
	return !p.accounts.mayRefuse(ctx, x.clearing.account)
}

// hasServerTools reports whether a body has calls of tools that the provider runs. The provider counts these calls; the codecs do not.
func hasServerTools(body []byte) bool {
	return bytes.Contains(body, []byte(`"server_tool_use"`)) || bytes.Contains(body, []byte(`"mcp_tool_use"`))
}

// askToClear adds to the body the option to clear what the plan clears.
func (p *Proxy) askToClear(x *exchange, d *reading) {
	x.clearing.calls = 0
	if d.plan == nil || d.plan.ClearedCalls == 0 || !d.asks {
		return
	}
	all := 0
	for i := range d.request.Messages {
		for _, part := range d.request.Messages[i].Parts {
			if part.Kind == llm.ToolCall {
				all++
			}
		}
	}
	if err := x.body.clear(d.plan.ClearedCalls, all-d.plan.ClearedCalls, &p.buffers); err != nil {
		p.log.Warn("old results are not cleared", "conversation", x.row.Conversation, "error", err)
		d.plan = d.plan.Uncleared()
		return
	}
	x.clearing.calls = d.plan.ClearedCalls
}

// sendWhole sends a refused request again, without the option to clear results. Servers that do not know the option give different
// error messages. So the error is not read: if the request is accepted now, the option was the reason, and the account is remembered.
// If the request cannot be made without the option, sendWhole returns nil.
func (p *Proxy) sendWhole(r *http.Request, x *exchange) (*http.Response, error) {
	d := x.recovery.reading
	d.asks, d.clears, d.verdict = false, false, d.verdict.Continued()
	why := p.safely(x, func() cause { return p.goAs(x, d, d.plan.Uncleared(), d.earlier.begin) })
	if why != planned {
		p.log.Warn("a refused request does not go again without the option to clear results", "conversation", x.row.Conversation, "cause", string(why))
		return nil, nil
	}
	again := r.Clone(r.Context())
	x.body.send(again)
	resp, err := plainAnswers{p.config.Transport}.RoundTrip(again)
	if err == nil && resp.StatusCode < http.StatusMultipleChoices {
		p.clearsNothing(x)
	}
	return resp, err
}

// clearsNothing remembers that the provider clears nothing for this account.
func (p *Proxy) clearsNothing(x *exchange) {
	p.log.Info("the provider clears no results: with this account nothing more is asked for", "upstream", x.upstream.Host, "model", x.row.Model)
	p.accounts.set(x.clearing.account, true)
	p.writer.wait(p.store(record.Batch{Refusals: []record.Refusal{{Account: x.clearing.account, Time: time.Now()}}}, nil))
}

// checkCleared checks that the answer says that results were cleared.
func (p *Proxy) checkCleared(x *exchange) {
	if x.meter == nil || x.clearing.calls == 0 || x.row.Status != http.StatusOK || x.row.Cut {
		return
	}
	if n := x.meter.Reading().Cleared; n == 0 || n > x.clearing.calls {
		p.clearsNothing(x)
	}
}

// forgetsThinking reports whether thinking of earlier turns may leave a request.
func (p *Proxy) forgetsThinking(d *reading) bool {
	return !p.unchanged && p.policy.Clears() && d.request != nil && d.request.Thread == "" && p.rules.of(d.api, d.model).billsThinking
}

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
