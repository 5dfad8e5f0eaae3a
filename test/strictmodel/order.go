package strictmodel

import (
	"fmt"
	"slices"
	"strings"
)

// turn is a sequence of messages with the same role, which the provider treats as one message.
type turn struct {
	role   string
	first  int // index of the first message
	blocks []placed
}

// placed is a block with where it is in the request.
type placed struct {
	object
	at string
}

func (b placed) id(key string) string { id, _ := b.object[key].(string); return id }

func turns(messages []object) (out []turn) {
	for i, m := range messages {
		role, _ := m["role"].(string)
		if len(out) == 0 || out[len(out)-1].role != role {
			out = append(out, turn{role: role, first: i})
		}
		t := &out[len(out)-1]
		for j, v := range blocksOf(m["content"]) {
			b, _ := v.(object)
			t.blocks = append(t.blocks, placed{b, fmt.Sprintf("messages.%d.content.%d", i, j)})
		}
	}
	return out
}

// misordered returns why the provider refuses the order of messages and blocks. The rules are on the pages
// "Handle tool calls" and "Tool and multi-turn workflows" (of thinking).
func misordered(messages []object) *refusal {
	seen := map[string]bool{} // ids of calls
	var calls []string        // of the previous turn
	for _, t := range turns(messages) {
		if t.role != "assistant" {
			if why := t.results(calls); why != nil {
				return why
			}
			calls = nil
			continue
		}
		if why := t.thinkingFirst(); why != nil {
			return why
		}
		for _, b := range t.blocks {
			if b.object["type"] != "tool_use" {
				continue
			}
			if seen[b.id("id")] {
				return refuse("%s: `tool_use` ids must be unique", b.at)
			}
			seen[b.id("id")] = true
			calls = append(calls, b.id("id"))
		}
	}
	if len(calls) > 0 {
		return unanswered(calls, len(messages)-1)
	}
	return nil
}

func unanswered(calls []string, message int) *refusal {
	return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(calls, ", "))
}

// results checks that the results of the previous calls come before everything else.
func (t turn) results(calls []string) *refusal {
	open, leading := slices.Clone(calls), true
	for _, b := range t.blocks {
		if b.object["type"] == "text" && b.id("text") == "" {
			return refuse("messages: text content blocks must be non-empty")
		}
		if b.object["type"] != "tool_result" {
			leading = false
			continue
		}
		id := b.id("tool_use_id")
		switch {
		case !slices.Contains(calls, id):
			return refuse("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.at, id)
		case !slices.Contains(open, id):
			return refuse("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.at, id)
		case leading:
			open = slices.DeleteFunc(open, func(s string) bool { return s == id })
		}
	}
	if len(open) > 0 {
		return unanswered(open, t.first-1)
	}
	return nil
}

// thinkingFirst checks that thinking does not come late in an assistant's turn, and does not end it.
func (t turn) thinkingFirst() *refusal {
	thinking := func(b placed) bool { return signed(b.object) != "" }
	if !slices.ContainsFunc(t.blocks, thinking) {
		return nil
	}
	if first := t.blocks[0]; !thinking(first) && first.object["type"] != "compaction" {
		return refuse("%s: If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `%v`.", first.at, first.object["type"])
	}
	if thinking(t.blocks[len(t.blocks)-1]) {
		return refuse("messages.%d: The final block in an assistant message cannot be `thinking`.", t.first)
	}
	return nil
}
