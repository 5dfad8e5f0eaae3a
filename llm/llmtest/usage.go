package llmtest

import (
	"strings"
	"sync"

	"github.com/stet-dev/stet/llm"
)

// prefixCache simulates a provider's prompt cache. It keeps the latest prompts, and returns how much of a new prompt was seen before.
// Four bytes count as a token.
type prefixCache struct {
	mu      sync.Mutex
	prompts []string // the oldest first
}

const (
	cachedPrompts = 64
	cacheBlock    = 128  // cached prefixes consist of whole blocks
	cacheMinimum  = 1024 // minimum length of a cached prefix, in tokens
)

// usage counts the tokens of a prompt and an answer, and stores the prompt.
func (c *prefixCache) usage(req *llm.Request, answer llm.Message) llm.Usage {
	prompt := promptText(req)
	c.mu.Lock()
	common := 0
	for _, p := range c.prompts {
		common = max(common, commonPrefix(p, prompt))
	}
	c.prompts = append(c.prompts, prompt)
	if len(c.prompts) > cachedPrompts {
		c.prompts = c.prompts[1:]
	}
	c.mu.Unlock()

	total := tokens(len(prompt))
	cached := common / 4 / cacheBlock * cacheBlock
	if cached < cacheMinimum {
		cached = 0
	}
	u := llm.Usage{Input: total - cached, CacheRead: cached}
	for _, p := range answer.Parts {
		n := tokens(len(p.Text) + len(p.Name) + len(p.Args))
		u.Output += n
		if p.Kind == llm.Thinking {
			u.Reasoning += n
		}
	}
	return u
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// PromptTokens counts the tokens of everything that the model reads.
func PromptTokens(req *llm.Request) int { return tokens(len(promptText(req))) }

// promptText returns everything that the model reads, in the order in which caches hash it: tools, system, messages.
func promptText(req *llm.Request) string {
	var b strings.Builder
	for _, t := range req.Tools {
		b.WriteString(t.Name + "\x00" + t.Description + "\x00")
		b.Write(t.Schema)
	}
	for _, m := range req.Messages {
		b.WriteString("\x00" + string(m.Role))
		for _, p := range m.Parts {
			if m.Role == llm.System && Accounts(p.Text) {
				continue
			}
			b.WriteString("\x00" + p.Name + p.CallID + p.Args + p.Text)
			if p.Kind == llm.Opaque {
				b.WriteString(p.Raw)
			}
		}
	}
	return b.String()
}

// Accounts reports whether a block of the system text is the provider's accounting header. It differs in each request and is no part of the
// prompt: neither the cache nor the check of thinking counts it, or no request of such a client could read the cache.
func Accounts(text string) bool { return strings.HasPrefix(text, "x-anthropic-billing-header:") }

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	if a[:n] == b[:n] {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
