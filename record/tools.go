package record

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// ToolSet says which tools a request offers to the model. Many requests offer the same tools.
type ToolSet struct {
	ID    uint64 // a hash of Tools; Request.ToolSet names it
	Tools []OfferedTool
}

// OfferedTool is a tool that a request offers.
type OfferedTool struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"` // estimated size of name, description and schema; 0: they are not sent before the model searches for the tool
}

// ToolCalls says how often a conversation called a tool. The key is Conversation, Agent and Tool together.
type ToolCalls struct {
	Conversation, Agent, Tool string

	Time  time.Time // when Calls was counted; stores keep microseconds, in UTC
	Calls int       // the largest number that was counted
}

// toolUser is the key of ToolCalls.
type toolUser struct{ conversation, agent, tool string }

func (c ToolCalls) key() toolUser { return toolUser{c.Conversation, c.Agent, c.Tool} }

// Tools implements Store.
func (m *Memory) Tools(ctx context.Context, since time.Time) ([]ToolSet, []ToolCalls, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	var sets []ToolSet
	for _, id := range slices.Sorted(maps.Keys(m.toolSets)) {
		sets = append(sets, ToolSet{id, slices.Clone(m.toolSets[id])})
	}
	var calls []ToolCalls
	for _, c := range m.toolCalls {
		if !c.Time.Before(since) {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b ToolCalls) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Tool, b.Tool))
	})
	return sets, calls, nil
}

// putTools stores sets of tools and calls.
func (m *Memory) putTools(b Batch) {
	if m.toolSets == nil {
		m.toolSets, m.toolCalls = map[uint64][]OfferedTool{}, map[toolUser]ToolCalls{}
	}
	for _, s := range b.ToolSets {
		if _, ok := m.toolSets[s.ID]; !ok {
			m.toolSets[s.ID] = slices.Clone(s.Tools)
		}
	}
	for _, c := range b.ToolCalls {
		c.Time, c.Calls = stored(c.Time), max(c.Calls, m.toolCalls[c.key()].Calls)
		m.toolCalls[c.key()] = c
	}
}

// pruneTools removes sets that no request names, and calls that were counted before since.
func (m *Memory) pruneTools(since time.Time) {
	used := map[uint64]bool{}
	for _, r := range m.requests {
		used[r.ToolSet] = true
	}
	maps.DeleteFunc(m.toolSets, func(id uint64, _ []OfferedTool) bool { return !used[id] })
	maps.DeleteFunc(m.toolCalls, func(_ toolUser, c ToolCalls) bool { return c.Time.Before(since) })
}
