package proxy

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
)

// unknownWindow is the window in tokens that is assumed for an unknown model.
const unknownWindow = 128_000

// decode reads the body. For a continuation it also loads the conversation.
func (p *Proxy) decode(x *exchange, d *reading) cause {
	d.api, d.view = apiOf(x), x.body.borrowed[0]
	if why := p.read(x, d); why != planned {
		return why
	}
	d.model = shortCopy(d.request.Model)
	x.row.Model = d.model
	if d.request.Thread != "" || x.api == llm.Responses {
		if why := p.follow(x, d); why != planned {
			return why
		}
	}
	switch req := d.request; {
	case req.Chained:
		return chained
	case req.Caching.Clears, req.Caching.Cuts && len(d.view.b)/3 > cmp.Or(p.rules.of(apiOf(x), x.row.Model).window, unknownWindow):
		return managed
	}
	return planned
}

// read decodes the body that is planned. If the body continues a held one, only the new part is decoded.
func (p *Proxy) read(x *exchange, d *reading) cause {
	var err error
	same := 0
	if d.base, same = p.recent.find(d.api, d.view.b); d.base != nil {
		defer d.base.body.drop(&p.buffers)
		d.request, err = x.codec.DecodeAfter(d.view.b, d.base.request, d.base.body.b, same)
	} else {
		d.request, err = x.codec.Decode(d.view.b)
	}
	if err != nil {
		d.request = nil
		return malformed
	}
	d.request.Model = cmp.Or(d.request.Model, x.model)
	return planned
}

// findConversation finds the conversation of the request.
func (p *Proxy) findConversation(x *exchange, d *reading, h http.Header) {
	req := d.request
	if req == nil {
		req = new(llm.Request)
	}
	name, agent := x.codec.Session(h.Get, req)
	name, agent = shortCopy(name), shortCopy(agent)
	x.row.Agent = agent
	var key string
	if name != "" {
		key = apiOf(x) + "\x00" + name + "\x00" + agent
	}
	p.link(x, d, req)
	d.asked = p.cacheRequest(x, req, &d.chain)
	if d.request != nil && !req.Chained && p.maybeSent(x, d) {
		p.recall(x, &d.asked)
	}
	if key == "" && (d.request == nil || req.Chained || x.api == record.CountTokens) {
		return // nothing identifies the conversation, or the request only counts tokens for a request that is still to come
	}
	x.conversation = p.conversations.enter(key, name, &d.chain, func() string {
		if name, elsewhere := p.cache.Named(&d.asked); elsewhere {
			return name
		}
		return ""
	})
	x.row.Conversation = x.conversation.id
	d.asked.Name, d.asked.Conversation = x.conversation.id, &x.conversation.cache
}

// link hashes the messages, and holds the request for later requests that continue it.
func (p *Proxy) link(x *exchange, d *reading, req *llm.Request) {
	var before *prefix.Chain
	if d.base != nil {
		d.common = commonMessages(req.Messages, d.base.request.Messages)
		before = &d.base.chain
	}
	d.chain = prefix.ChainOf(req.Messages, before, d.common)
	if d.request != nil && !req.Chained {
		d.now = &heldRequest{api: apiOf(x), body: d.view, request: req, chain: d.chain}
		d.now.measure()
		p.recent.add(d.now, d.base)
	}
}

// commonMessages counts the equal messages at the beginning of a and b. Their places in the bodies may differ.
func commonMessages(a, b []llm.Message) int {
	n := 0
	for n < min(len(a), len(b)) && sameMessage(&a[n], &b[n]) {
		n++
	}
	return n
}

func sameMessage(a, b *llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	if len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] {
		return true
	}
	for i := range a.Parts {
		p, q := a.Parts[i], b.Parts[i]
		if p.Span.Valid() != q.Span.Valid() {
			return false
		}
		p.Span = q.Span
		if p != q {
			return false
		}
	}
	return true
}

// apiOf returns the API of a request. For counting tokens it is the API whose tokens are counted.
func apiOf(x *exchange) string {
	return x.endpoint.format()
}

// clip returns at most the first n bytes of s. If bytes were cut off, "…" follows.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// shortCopy returns a copy of at most 200 bytes of s. The copy does not keep a body or a header in memory.
func shortCopy(s string) string { return strings.Clone(clip(s, 200)) }
