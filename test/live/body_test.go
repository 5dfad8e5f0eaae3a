package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// models replace the models of a recording, in the order of their first answers.
var models = [...]string{"claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-4-0", "claude-opus-4-1"}

// body returns a request as an agent sends it: the recorded messages, about fixed tokens of tools, and a marker at the end of the
// last message.
func body(t *testing.T, model string, fixed int, messages []llm.Message) []byte {
	t.Helper()
	var sent []map[string]any
	for i := range messages {
		m := &messages[i]
		if m.Local {
			continue
		}
		role := "user"
		if m.Role == llm.Assistant {
			role = "assistant"
		}
		var blocks []map[string]any
		for j := range m.Parts {
			if b := blockOf(&m.Parts[j]); b != nil {
				blocks = append(blocks, b)
			}
		}
		if len(blocks) > 0 {
			sent = append(sent, map[string]any{"role": role, "content": blocks})
		}
	}
	if n := len(sent); n > 0 {
		blocks := sent[n-1]["content"].([]map[string]any)
		blocks[len(blocks)-1]["cache_control"] = map[string]any{"type": "ephemeral"}
	}
	data, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": 100, "messages": sent, "system": "You help.",
		"metadata": map[string]any{"user_id": `{"session_id":"one"}`},
		"tools":    []any{map[string]any{"name": "Read", "description": strings.Repeat("it reads ", fixed*4/10), "input_schema": map[string]any{"type": "object"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// blockOf returns a part as a block, or nil if it is not sent.
func blockOf(p *llm.Part) map[string]any {
	switch p.Kind {
	case llm.Text:
		if p.Text == "" {
			return nil
		}
		return map[string]any{"type": "text", "text": p.Text}
	case llm.ToolCall:
		var input map[string]any
		if json.Unmarshal([]byte(p.Args), &input) == nil && input != nil {
			return map[string]any{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": json.RawMessage(p.Args)}
		}
		return map[string]any{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": map[string]any{"input": p.Args}}
	case llm.ToolResult:
		return map[string]any{"type": "tool_result", "tool_use_id": p.CallID, "content": p.Text, "is_error": p.IsError}
	case llm.Opaque:
		return map[string]any{"type": "text", "text": fmt.Sprintf("[something of %d bytes]", len(p.Raw))}
	}
	return nil
}
