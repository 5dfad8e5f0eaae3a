package proxy

import (
	"strings"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
)

// toolUse holds the tools that a request offers, and how often the conversation has called each.
type toolUse struct {
	offered record.ToolSet
	calls   map[string]int
}

// toolUseOf counts the tools of a request.
func (c *counters) toolUseOf(model string, req *llm.Request) (u toolUse) {
	counter := c.of(model)
	var h prefix.Hasher
	for i := range req.Tools {
		t := &req.Tools[i]
		size := 0
		if !t.Deferred {
			size = counter.Count(t.Name) + counter.Count(t.Description) + counter.Count(string(t.Schema))
		}
		h.Text(t.Name)
		if len(u.offered.Tools) == limits.List {
			continue
		}
		h.Number(uint64(size))
		u.offered.Tools = append(u.offered.Tools, record.OfferedTool{Name: limits.Clip(t.Name, limits.Name), Tokens: size})
	}
	if len(req.Tools) > 0 {
		u.offered.ID = max(h.Sum64(), 1)
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if p := &req.Messages[i].Parts[j]; p.Kind == llm.ToolCall {
				if u.calls == nil {
					u.calls = map[string]int{}
				}
				if name := limits.Clip(p.Name, limits.Name); len(u.calls) < limits.List || u.calls[name] > 0 {
					u.calls[name]++
				}
			}
		}
	}
	return u
}

// newToolUse returns the rows about tools that were not recorded before in the conversation v, which may be nil. They share
// no memory with the request.
func (t *conversations) newToolUse(v *conversation, row *record.Request, u toolUse) (b record.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v == nil {
		v = &conversation{}
	}
	if u.offered.ID != 0 && u.offered.ID != v.toolSet {
		v.toolSet = u.offered.ID
		for i := range u.offered.Tools {
			u.offered.Tools[i].Name = strings.Clone(u.offered.Tools[i].Name)
		}
		b.ToolSets = append(b.ToolSets, u.offered)
	}
	for name, n := range u.calls {
		if n <= v.calls[name] {
			continue
		}
		name = strings.Clone(name)
		if v.calls == nil || len(v.calls) >= maxRemembered {
			v.calls = map[string]int{}
		}
		v.calls[name] = n
		b.ToolCalls = append(b.ToolCalls, record.ToolCalls{
			Conversation: row.Conversation, Agent: row.Agent, Tool: name, Time: row.Time, Calls: n,
		})
	}
	return b
}
