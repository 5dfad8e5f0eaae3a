package llm

import (
	"slices"
	"time"
)

// How a provider caches the beginning of a request.

// Cache tells a provider which beginnings of the request to keep in its prompt cache, for providers that need to be asked. Tools and
// system text are always kept together. The fields choose how many messages are kept.
type Cache struct {
	// Frontier is a number of messages at the beginning. They stay unchanged when later messages change, so they can stay in the
	// cache. It is the same from one request to the next. 0 means none.
	Frontier int

	// Rolling are up to two more numbers of messages, which move as the conversation grows. Nil means: all messages of this
	// request, and all messages of the previous request, which ended before the model's last answer.
	Rolling []int
}

// Ends returns the numbers of messages up to which the request is to be cached. There are at most three, in ascending order,
// without duplicates and without 0.
func (c *Cache) Ends(messages []Message) []int {
	rolling := c.Rolling
	if rolling == nil {
		rolling = []int{len(messages), asked(messages)}
	}
	var out []int
	for _, n := range append([]int{c.Frontier}, rolling[:min(len(rolling), 2)]...) {
		if n = min(n, len(messages)); n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// asked returns the number of messages before the model's last answer.
func asked(messages []Message) int {
	n := len(messages)
	for n > 0 && messages[n-1].Role != Assistant {
		n--
	}
	for n > 0 && messages[n-1].Role == Assistant {
		n--
	}
	return n
}

// Breakpoint is a cache marker: the request asks the provider to cache the prompt up to it.
type Breakpoint struct {
	Lifetime time.Duration // the lifetime that it asks for; 0: the provider's default
	Blocks   int           // number of prompt parts up to and including the marked one; 0: the marker is on the tools
}

// Caching is what a request asks of the provider's prompt cache, and what the provider may leave out itself.
type Caching struct {
	Breakpoints []Breakpoint  // in the order of the prompt; nil if the wire format has no markers
	Lifetime    time.Duration // the longest that the request asks for; 0: the provider's default

	// Clears says that the provider itself removes tool results from the prompt. Either the request asks for it when there are
	// many, or the provider has summarised the beginning of the conversation. Cuts says that the provider may drop the beginning
	// of the prompt if the window is too small.
	Clears, Cuts bool
}
