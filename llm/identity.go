package llm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CallIDs gives the calls of one request, and their results, the ids with which they are sent. An id stays the same if the API
// accepts it and no earlier call has it. Otherwise it is replaced. The replacement depends only on the earlier calls and results.
// Call and Result must be called in the order of the request.
type CallIDs struct {
	Max   int  // the longest id that the API accepts, in bytes; 0: any length
	Plain bool // the API accepts only letters, digits, _ and -

	sent map[string]bool
	next map[string]int      // the next number to try for a base id
	last map[string]string   // the id with which it was sent last
	open map[string][]string // sent ids of calls without a result
}

// Call returns the id to send for the next call, whose own id is id.
func (c *CallIDs) Call(id string) string {
	if c.sent == nil {
		c.sent, c.next = make(map[string]bool), make(map[string]int)
		c.last, c.open = make(map[string]string), make(map[string][]string)
	}
	out := id
	if !c.takes(id) || c.sent[id] {
		out = c.made(id)
	}
	c.sent[out], c.last[id] = true, out
	c.open[id] = append(c.open[id], out)
	return out
}

// Result returns the id to send for the next result, whose call has the id id. If several calls have it, it is the first call
// without a result.
func (c *CallIDs) Result(id string) string {
	if open := c.open[id]; len(open) > 0 {
		c.open[id] = open[1:]
		return open[0]
	}
	if last, ok := c.last[id]; ok {
		return last
	}
	if c.takes(id) {
		return id
	}
	return c.legal(id)
}

func (c *CallIDs) takes(id string) bool {
	return id != "" && (c.Max == 0 || len(id) <= c.Max) && (!c.Plain || isPlain(id))
}

// legal changes id to a form that the API accepts, with capacity for a number.
func (c *CallIDs) legal(id string) string {
	const suffix = 8 // bytes for the number
	if id = plain(id); id == "" {
		return "call"
	}
	if c.Max > 0 && len(id) > c.Max-suffix {
		return id[:c.Max-suffix]
	}
	return id
}

func (c *CallIDs) made(id string) string {
	base := c.legal(id)
	for {
		out := base
		if c.next[base]++; c.next[base] > 1 {
			out += "_" + strconv.Itoa(c.next[base])
		}
		if !c.sent[out] {
			return out
		}
	}
}

// Sendable returns the call p in a form that can be sent back. others are parts of the same answer. The call gets a new id if it has
// none, or if a call in others has the same one. The new id is made from the answer's id and the part's index. The name becomes a
// valid tool name. Missing arguments become an empty object, because some endpoints leave them out.
func Sendable(p Part, response string, index int, others []Part) Part {
	taken := func() bool {
		return slices.ContainsFunc(others, func(o Part) bool { return o.Kind == ToolCall && o.CallID == p.CallID })
	}
	if p.CallID == "" || taken() {
		p.CallID = fmt.Sprintf("call_%s_%d", response, index)
	}
	for taken() {
		p.CallID += "_"
	}
	p.Name = LegalName(p.Name, 128) // the longest that an API accepts
	if p.Args == "" {
		p.Args = "{}"
	}
	return p
}

// LegalName returns a tool name that an API accepts: at most max bytes of letters, digits, _ and -. max is at least 16. An invalid name
// that a model made up becomes a name that no tool has and that still shows the original.
func LegalName(name string, max int) string {
	const head = "unknown__"
	if name != "" && len(name) <= max && isPlain(name) {
		return name
	}
	name = head + plain(name)
	return name[:min(len(name), max)]
}

func isPlain(s string) bool { return strings.IndexFunc(s, notPlain) < 0 }

func notPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// plain returns s with every other character replaced by _.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if notPlain(r) {
			return '_'
		}
		return r
	}, s)
}
