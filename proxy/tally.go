package proxy

import (
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tokens"
)

// leave counts a request of v as done. It keeps of trims only those that
// were not recorded before.
func (t *table) leave(v *conversation, row record.Request, trims []record.Trim) []record.Trim {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.Add(row)
	if v == nil {
		return trims
	}
	v.inFlight--
	if v.sums.Requests == 0 && row.API != record.CountTokens {
		t.totals.Conversations++
	}
	v.sums.ID = v.id
	v.sums.Add(row)
	fresh := trims[:0]
	for _, trim := range trims {
		if v.shortened[trim.CallID] {
			continue
		}
		if v.shortened == nil || len(v.shortened) >= maxRemembered {
			v.shortened = map[string]bool{}
		}
		v.shortened[trim.CallID] = true
		fresh = append(fresh, trim)
	}
	return fresh
}

// firstWarning reports whether v was not yet warned of cause, and marks it.
func (t *table) firstWarning(v *conversation, cause string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.warned[cause] {
		return false
	}
	if v.warned == nil {
		v.warned = map[string]bool{}
	}
	v.warned[cause] = true
	return true
}

// counted returns what is known of the tokens of c's beginning: the number of
// links counted, and their tokens, the system text included. 0, 0 is nothing.
func (t *table) counted(v *conversation, c *chain, model string) (links, tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := v.counted
	if k.length == 0 || k.length > len(c.links) || k.model != model || k.system != c.system || c.links[k.length-1] != k.end {
		return 0, 0
	}
	return k.length, k.tokens
}

// setCounted remembers the tokens of all of c.
func (t *table) setCounted(v *conversation, c *chain, model string, tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.counted = count{c.last(), len(c.links), c.system, model, tokens}
}

// sums returns the totals since the start, and the conversations, those of the
// oldest newest request first.
func (t *table) sums() (record.Totals, []record.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []record.Conversation
	for e := t.order.Back(); e != nil; e = e.Prev() {
		if v := e.Value.(*conversation); v.sums.Requests > 0 {
			out = append(out, v.sums)
		}
	}
	return t.totals, out
}

// tally estimates the tokens of x as it came and as it is planned.
func (p *Proxy) tally(x *exchange) {
	defer func() {
		if v := recover(); v != nil {
			x.row.TokensOff, x.row.Tokens = 0, 0
			p.log.Error("counting broke off", "api", x.api, "cause", v)
		}
	}()
	counter := tokens.EstimateFor(x.row.Model)
	x.row.TokensOff = p.count(x, counter)
	x.row.Tokens = x.row.TokensOff
	for _, e := range x.plan.Edits {
		part := x.request.Messages[e.Message].Parts[e.Part]
		x.row.Tokens += counter.Count(e.Text) - counter.Count(part.Text)
	}
}

// count estimates the tokens of the request, beginning where the count of the
// conversation's last request ended.
func (p *Proxy) count(x *exchange, counter tokens.Counter) int {
	links, n := 0, 0
	if x.conversation != nil {
		links, n = p.table.counted(x.conversation, &x.chain, x.row.Model)
	}
	from := x.chain.skip + links
	if links == 0 {
		from = 0
		for _, tool := range x.request.Tools {
			n += counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
		}
	}
	for _, m := range x.request.Messages[from:] {
		for i := range m.Parts {
			part := &m.Parts[i]
			n += counter.Count(part.Text) + counter.Count(part.Name) + counter.Count(part.Args)
		}
	}
	if x.conversation != nil {
		p.table.setCounted(x.conversation, &x.chain, x.row.Model, n)
	}
	return n
}
