package transcript

import (
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// block is a content block of the Messages API, as several agents store it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks reads the content of a message: a string, or a list of blocks. The
// results of tools come apart from the other parts, each in its order.
func blocks(content json.RawMessage) (parts, results []llm.Part) {
	if len(content) == 0 {
		return nil, nil
	}
	if content[0] == '"' {
		if text := str(content); text != "" {
			parts = []llm.Part{{Text: text}}
		}
		return parts, nil
	}
	for _, raw := range list(content) {
		var b block
		if decode(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			if b.Text != "" {
				parts = append(parts, llm.Part{Text: b.Text})
			}
		case "thinking", "redacted_thinking":
			parts = append(parts, llm.Part{Kind: llm.Thinking, Text: b.Thinking, Raw: string(raw)})
		case "tool_use":
			parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: b.ID, Name: b.Name, Args: arguments(b.Input)})
		case "tool_result":
			results = append(results, resultParts(b.ToolUseID, b.Content, b.IsError)...)
		case "":
		default: // images, documents, server tools
			parts = append(parts, llm.Part{Kind: llm.Opaque, Raw: string(raw)})
		}
	}
	return parts, results
}

// resultParts reads the content of a tool's result. Its texts become one
// ToolResult; images follow as Opaque. A list that is not of blocks is the
// result's text as JSON: that is how it was sent.
func resultParts(id string, content json.RawMessage, isError bool) []llm.Part {
	result := llm.Part{Kind: llm.ToolResult, CallID: id, IsError: isError}
	if len(content) > 0 && content[0] == '"' {
		result.Text = str(content)
		return []llm.Part{result}
	}
	var texts []string
	var opaque []llm.Part
	for _, raw := range list(content) {
		var b block
		switch err := decode(raw, &b); {
		case err != nil || b.Type == "":
			result.Text = compact(content)
			return []llm.Part{result}
		case b.Type == "text":
			texts = append(texts, b.Text)
		default:
			opaque = append(opaque, llm.Part{Kind: llm.Opaque, Raw: string(raw)})
		}
	}
	result.Text = strings.Join(texts, "\n")
	return append([]llm.Part{result}, opaque...)
}

// messagesUsage is the usage object of the Messages API.
type messagesUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u messagesUsage) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.Creation.Hour, Output: u.Output,
	})
}

// orNil returns nil for usage that was not reported.
func orNil(u llm.Usage) *llm.Usage {
	if u.IsZero() {
		return nil
	}
	return &u
}

// uncached returns what of the input was neither read from nor written to the
// cache, where the total includes these.
func uncached(total int, cached ...int) int {
	for _, n := range cached {
		total -= n
	}
	return max(total, 0)
}
