package llm

import (
	"strconv"
	"strings"
)

// CallIDs gives the calls of one request, and their results, the identities
// under which they are sent. One that the API takes, and that no call before
// bears, stays as it is; another is replaced, always by the same as long as
// what comes before it is the same. Calls and results are to be asked for in
// the order of the request.
type CallIDs struct {
	Max   int  // the longest that the API takes, in bytes; 0: any
	Plain bool // it takes letters, digits, _ and - only

	sent map[string]bool
	next map[string]int      // of what one was made of: the number to try
	last map[string]string   // as what it was sent last
	open map[string][]string // calls without a result
}

// Call returns the identity of the next call, which bears id.
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

// Result returns the identity of the next result, of a call that bears id. Of
// several calls alike the first without a result is meant.
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

// legal makes of id something that the API takes, with room for a number.
func (c *CallIDs) legal(id string) string {
	const room = 8
	if id = plain(id); id == "" {
		return "call"
	}
	if c.Max > 0 && len(id) > c.Max-room {
		return id[:c.Max-room]
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

// LegalName returns the name of a tool as an API takes it back that allows max
// bytes, at least 16: letters, digits, _ and -. What a model made up besides
// becomes a name that no tool has, and that still shows what it was.
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

// plain returns s with _ for every other character.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if notPlain(r) {
			return '_'
		}
		return r
	}, s)
}
