package agent

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tokens"
)

// window returns the number of tokens that the model accepts, for prompt and answer together.
func (a *Agent) window() int {
	return cmp.Or(a.Limits.Window, a.model.Window, 128_000)
}

// output returns the largest number of tokens of an answer.
func (a *Agent) output() int {
	return min(cmp.Or(a.MaxTokens, 8192), max(a.window()/4, 1))
}

// maxPrompt returns the largest size of a prompt, in tokens, that leaves room for an answer.
func (a *Agent) maxPrompt() int {
	reserve := min(cmp.Or(a.Limits.Reserve, 4096), a.window()/8)
	return max(a.window()-a.output()-max(reserve, 0), a.window()/4)
}

// limit returns the size of the prompt, in tokens, at which the conversation is compacted. (CTX-4)
func (a *Agent) limit() int {
	share := cmp.Or(a.Limits.Compact, 0.92)
	if share < 0 {
		return a.maxPrompt()
	}
	return min(int(share*float64(a.window())), a.maxPrompt())
}

// warned returns the size of the prompt, in tokens, at which a reminder says that the window is filling up.
func (a *Agent) warned() int {
	return min(int(cmp.Or(a.Limits.Warn, 0.80)*float64(a.window())), a.limit())
}

// maxResult returns the largest size of a result in bytes, for an answer with that many calls. Together the results take at
// most a quarter of the window. So the next request fits, even if tools return very much.
func (a *Agent) maxResult(calls int) int {
	return max(3*(a.window()/4)/calls, 1000)
}

// cutText cuts a text to n bytes. A line in the middle replaces the rest.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := n*3/4, len(s)-n/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[%d bytes are left out here: the result is too long. Ask for less at once.]\n%s", s[:head], tail-head, s[tail:])
}

// measure calibrates the estimate by the usage that the provider reported. (CTX-1)
func (c *Conversation) measure(estimate int, u llm.Usage) {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	c.meter.Observe(estimate, u.Prompt())
}

// size converts an estimate to the calibrated number of tokens.
func (c *Conversation) size(estimate int) int {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	return c.meter.Size(estimate)
}

// Fill says which parts take how much of the window in the next request.
func (c *Conversation) Fill() Fill { return c.fill(c.build()) }

func (c *Conversation) fill(b built) Fill {
	f := Fill{
		Window: c.a.window(), Limit: c.a.limit(), Used: b.size,
		Shares: tokens.Shares(b.req.Messages, c.a.counter),
		Tools:  b.estimate,
		Left:   b.plan.Saved * 10 / 36,
	}
	for _, s := range f.Shares {
		f.Tools -= s.Tokens
	}
	return f
}
