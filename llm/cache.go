package llm

import "slices"

// Cache tells a provider that wants to be told which beginnings of the request
// to keep in its prompt cache: always tools and system text together, and the
// messages up to some of them.
type Cache struct {
	// Frontier is the number of messages at the beginning that stay as they
	// are when what follows is changed, so that changing it leaves them in the
	// cache. It is kept from one request to the next. 0 is none.
	Frontier int

	// Rolling are further numbers of messages, two at most, which move as the
	// conversation grows. Nil is all of this request, and all of the one
	// before it, which ended where the model last answered.
	Rolling []int
}

// Ends returns the numbers of messages up to which the request is to be kept,
// three at most, ascending, each once, none 0.
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

// asked is the number of messages that the model's last answer answered.
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
