package agent

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// window returns the number of tokens that the model accepts, for prompt and answer together.
func (a *Agent) window() int {
	return cmp.Or(a.Limits.Window, a.model.Window, 128_000)
}

// output returns the largest number of tokens of an answer.
func (a *Agent) output() int {
	return min(cmp.Or(a.MaxTokens, 8192), max(a.window()/4, 1))
}

// answerRoom returns the number of tokens that an answer has at least, however long the prompt is: all that MaxTokens asks for,
// otherwise 6 % of the window.
func (a *Agent) answerRoom() int {
	if a.MaxTokens > 0 {
		return a.output()
	}
	return max(min(a.output(), a.window()*6/100), 1)
}

// answerLimit returns the largest number of tokens of the answer to a prompt of this size.
func (a *Agent) answerLimit(size int) int {
	return max(min(a.output(), a.window()-size-a.reserve()), a.answerRoom())
}

// reserve returns the tokens that are kept free besides the answer. The estimate of a prompt is off by about as much.
func (a *Agent) reserve() int {
	return max(min(cmp.Or(a.Limits.Reserve, a.window()/50), a.window()/8), 0)
}

// maxPrompt returns the largest size of a prompt, in tokens, with capacity for an answer.
func (a *Agent) maxPrompt() int { return a.window() - a.answerRoom() - a.reserve() }

// limit returns the size of the prompt, in tokens, at which the conversation is compacted.
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

// measure calibrates the estimate by the usage that the provider reported.
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
