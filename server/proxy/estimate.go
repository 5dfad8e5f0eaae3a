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

// estimate estimates the tokens of a request as it came (off), and as planned (sent).
func (c *counters) estimate(model string, req *llm.Request, plan *trim.Plan) (off, sent int) {
	counter := c.of(model)
	for i := range req.Tools {
		tool := &req.Tools[i]
		n := counter.Count(tool.Name) + counter.Count(tool.Description) + counter.Count(string(tool.Schema))
		off += n
	}
	for _, m := range req.Messages {
		for i := range m.Parts {
			part := &m.Parts[i]
			off += counter.Count(part.Text) + counter.Count(part.Name) + counter.Count(part.Args)
			if part.Kind == llm.Thinking {
				off += hiddenThinking(part)
			}
		}
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
