package llm

import "slices"

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
