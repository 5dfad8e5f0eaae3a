package proxy

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tokens"
)

// estimate estimates the tokens of a request, whose conversation is known, as
// it came and as it is planned.
func (p *Proxy) estimate(x *exchange, d *reading) (off, sent int) {
	counter := tokens.EstimateFor(x.row.Model)
	off = p.count(x, d, counter)
	sent = off
	for i, e := range d.plan.Edits {
		trim := d.plan.Omissions[i]
		like := saving{before: trim.Before, after: trim.After, model: x.row.Model}
		key := partOf(trim.CallID, trim.Reason)
		n, known := p.conversations.saved(x.conversation, key, like)
		if !known {
			part := &d.request.Messages[e.Message].Parts[e.Part]
			was := part.Text
			if part.Kind == llm.ToolCall {
				was = part.Args
			}
			like.tokens = counter.Count(was) - counter.Count(e.Text)
			p.conversations.setSaved(x.conversation, key, like)
			n = like.tokens
		}
		sent -= n
	}
	return off, sent
}

// count estimates the tokens of the request, beginning where the count of the
// conversation's last request ended.
func (p *Proxy) count(x *exchange, d *reading, counter tokens.Counter) int {
	links, n := p.conversations.counted(x.conversation, &d.chain, x.row.Model)
	from := d.chain.Skip + links
	if links == 0 {
		from = 0
		for _, tool := range d.request.Tools {
			n += counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
		}
	}
	for _, m := range d.request.Messages[from:] {
		for i := range m.Parts {
			part := &m.Parts[i]
			n += counter.Count(part.Text) + counter.Count(part.Name) + counter.Count(part.Args)
		}
	}
	p.conversations.setCounted(x.conversation, &d.chain, x.row.Model, n)
	return n
}
