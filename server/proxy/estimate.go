package proxy

import (
	"sync"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim"
)

// counters estimates tokens. Counts are cached by the hash of the text, so counting a conversation again is cheap.
// Models with the same estimate share a counter.
type counters struct {
	mu   sync.Mutex
	made map[tokens.Counter]*tokens.Memo
}

func (c *counters) of(model string) *tokens.Memo {
	c.mu.Lock()
	defer c.mu.Unlock()
	plain := tokens.EstimateFor(model)
	memo := c.made[plain]
	if memo == nil {
		if c.made == nil {
			c.made = map[tokens.Counter]*tokens.Memo{}
		}
		memo = &tokens.Memo{Counter: plain}
		c.made[plain] = memo
	}
	return memo
}

// counted counts the tokens of the messages of a request. If it continues a held request, only the new messages are counted.
func (c *counters) counted(d *reading) (n int) {
	counter, all := c.of(d.model), d.request.Messages
	if h := d.base; h != nil && d.common == len(h.request.Messages) && h.request.Model == d.request.Model {
		if n = int(h.tokens.Load()); n > 0 {
			all = all[d.common:]
		}
	}
	for _, m := range all {
		for i := range m.Parts {
			part := &m.Parts[i]
			n += counter.Count(part.Text) + counter.Count(part.Name) + counter.Count(part.Args)
			if part.Kind == llm.Thinking {
				n += hiddenThinking(part)
			}
		}
	}
	if d.now != nil {
		d.now.tokens.Store(int64(n))
	}
	return n
}

// estimate estimates the tokens of a request as it came (off), and as planned (sent).
func (c *counters) estimate(d *reading, plan *trim.Plan) (off, sent int) {
	counter, req := c.of(d.model), d.request
	off = c.counted(d)
	for i := range req.Tools {
		tool := &req.Tools[i]
		off += counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
	}
	sent = off
	for _, e := range plan.Edits {
		part := &req.Messages[e.Message].Parts[e.Part]
		was := part.Text
		switch part.Kind {
		case llm.ToolCall:
			was = part.Args
		case llm.Thinking:
			sent -= hiddenThinking(part)
		}
		sent -= counter.Count(was) - counter.Count(e.Text)
	}
	return off, sent
}

// hiddenThinking estimates the tokens of thinking that the part does not show.
func hiddenThinking(p *llm.Part) int {
	return max(0, trim.ThinkingSize(p)-len(p.Text)) * 10 / 36
}
