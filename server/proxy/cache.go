package proxy

import (
	"context"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

// Package cachestate models the provider's cache. This file describes each request to it and stores the results.

// evicts reports whether the policy evicts at cold points, that is, leaves out content that was sent before.
func evicts(policy trim.Policy) bool {
	switch policy {
	case trim.Lossless, trim.Adaptive, trim.Bold:
		return true
	}
	return false
}

// cacheRequest returns a request in the form that package cachestate uses.
func (p *Proxy) cacheRequest(x *exchange, req *llm.Request, c *prefix.Chain) cachestate.Request {
	return cachestate.Request{
		Time: x.row.Time, API: apiOf(x), Key: cachestate.Key{Model: x.row.Model, Tools: prefix.Tools(req), System: c.System},
		Name: x.row.Conversation, Decoded: req, Chain: c, Lifetime: p.lifetimeOf(x, req), Vouched: p.vouches(x, req),
	}
}

// lifetimeOf returns how long the provider caches the prompt: the time that the request asks for, or else the provider's default.
func (p *Proxy) lifetimeOf(x *exchange, req *llm.Request) time.Duration {
	asked := req.Caching.Lifetime
	for _, b := range req.Caching.Breakpoints {
		if b.Lifetime == 0 {
			asked = max(asked, p.rules.of(x.api, "").Lifetime)
		}
	}
	if asked > 0 {
		return asked
	}
	return p.rules.of(x.api, x.row.Model).Lifetime
}

// vouches reports whether the provider caches the prompt no longer than the cache markers of the request ask for.
func (p *Proxy) vouches(x *exchange, req *llm.Request) bool {
	return x.api == llm.Messages && len(req.Caching.Breakpoints) > 0 && p.rules.of(x.api, x.row.Model).provider == "anthropic"
}

// missed maps the reasons that providers give for a cache miss to the part of the prompt that changed.
var missed = map[string]string{
	"model_changed": record.BrokeModel, "tools_changed": record.BrokeTools, "system_changed": record.BrokeSystem,
	"messages_changed": record.BrokeMessage, "input_changed": record.BrokeMessage, "context_compacted": record.BrokeContext,
	"prompt_cache_key_changed": record.BrokeSettings, "service_tier_changed": record.BrokeSettings,
	"text_format_changed": record.BrokeSettings, "reasoning_effort_changed": record.BrokeSettings,
	"verbosity_changed": record.BrokeSettings,
}

// noteBreak records where the prompt differs from the previous request. stet's own comparison comes first, then the provider's reason.
func noteBreak(x *exchange) {
	c := &x.row.Cache
	if c.Broke, c.BrokeAt = x.compared.Broke, x.compared.BrokeAt; c.Broke != "" || x.meter == nil {
		return
	}
	if c.Broke = missed[x.meter.Reading().Missed]; c.Broke == record.BrokeMessage {
		c.BrokeAt = -1
	}
}

// settle updates the cache state from an answer that ended at the given time. It returns the rows to be stored for the request.
// If the request was not answered, there are none.
func (p *Proxy) settle(x *exchange, at time.Time) (turns []record.Turn) {
	noteBreak(x)
	if x.pending == nil {
		return nil
	}
	row := &x.row
	if row.Status < 200 || row.Status >= 300 {
		p.cache.Rollback(x.pending)
		return nil
	}
	for memory, s := range map[*sent.Memory]*sent.Outgoing{p.forms: x.outgoing, p.shadow: x.shadow} {
		if s != nil {
			memory.Used(s, at)
		}
	}
	rule := p.rules.of(x.api, row.Model)
	turns, row.Cache.Alive = p.cache.Settle(x.pending, cachestate.Answer{
		Time: at, Usage: row.Usage, Compared: x.compared, Omissions: x.omissions,
		Price: trim.Price{Read: rule.Read, Write: rule.Write}, MinTokens: rule.MinTokens,
	})
	return turns
}

// recall loads the turns of a conversation that another process may have stored.
func (p *Proxy) recall(x *exchange, r *cachestate.Request) {
	if p.config.Store == nil || !r.Chain.Answered() {
		return
	}
	if wanted := p.cache.Wants(r); len(wanted) > 0 {
		_ = p.ask(x, func(ctx context.Context) error {
			turns, err := p.config.Store.Turns(ctx, wanted)
			if err == nil { // a part of them could make the conversation look older than it is
				p.cache.Take(r, turns)
			}
			return err
		})
	}
}
