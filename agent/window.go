package agent

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// The model's window: how much of it is used, and when it is tried to use less.

// window returns the number of tokens that the model accepts, for prompt and answer together.
func (a *Agent) window() int {
	return cmp.Or(a.Limits.Window, a.model.Window, 128_000)
}

// output returns the largest number of tokens of an answer.
func (a *Agent) output() int {
	return min(cmp.Or(a.MaxTokens, 8192), max(a.window()/4, 1))
}

// leastAnswer returns the number of tokens that an answer has at least, however long the prompt is: all that MaxTokens asks for,
// otherwise 6 % of the window.
func (a *Agent) leastAnswer() int {
	if a.MaxTokens > 0 {
		return a.output()
	}
	return max(min(a.output(), a.window()*6/100), 1)
}

// answerLimit returns the largest number of tokens of the answer to a prompt of this size.
func (a *Agent) answerLimit(size int) int {
	return max(min(a.output(), a.window()-size-a.reserve()), a.leastAnswer())
}

// reserve returns the tokens that are kept free besides the answer. The estimate of a prompt is off by about as much.
func (a *Agent) reserve() int {
	return max(min(cmp.Or(a.Limits.Reserve, a.window()/50), a.window()/8), 0)
}

// maxPrompt returns the largest size of a prompt, in tokens, with capacity for an answer.
func (a *Agent) maxPrompt() int { return a.window() - a.leastAnswer() - a.reserve() }

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

// backoff prevents repeated compactions without effect. It is guarded by Conversation.turn.
type backoff struct {
	failures int // failed compactions in a row
	until    int // prompt size from which on compaction is tried again; 0: any size
	narrow   int // size limit below the model's window, learned from a request that was too long; 0: none
	refused  int // requests in a row that the model refused as too long
}

// growth is a divisor of the window. After two failures, or a compaction without effect, the conversation must grow by this
// part of the window before the next attempt.
const growth = 10 // a tenth

// free reports whether a prompt of this size may be compacted.
func (b *backoff) free(size int) bool { return size >= b.until }

// failed records that a prompt of this size could not be compacted.
func (b *backoff) failed(size, window int) {
	if b.failures++; b.failures >= 2 {
		b.until = size + window/growth
	}
}

// compacted records that a conversation was compacted to this size. If the size is still above the limit, another
// compaction would not help at once.
func (b *backoff) compacted(size, limit, window int) {
	b.failures, b.until = 0, 0
	if size >= limit {
		b.until = size + window/growth
	}
}

// reset allows the next compaction. It is called when a person asks for one.
func (b *backoff) reset() { b.failures, b.until = 0, 0 }

// narrowed returns the limit, or the limit that was learned from the model if that is smaller.
func (r *run) narrowed(limit int) int {
	if r.backoff.narrow == 0 {
		return limit
	}
	return min(limit, r.backoff.narrow)
}

// narrow records that the model refused a request of this size as too long. It reports whether to try a shorter request.
func (r *run) narrow(b built) bool {
	if r.backoff.refused++; r.backoff.refused > 3 {
		return false
	}
	r.backoff.narrow = b.size * 3 / 4
	return r.backoff.narrow > 0
}
