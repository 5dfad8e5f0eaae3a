package transcript

import (
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// The parts of messages. Several agents store the content of a message as blocks
// of the Messages API.

// text returns a part of text, or none where it is empty.
func text(s string) []llm.Part {
	if s == "" {
		return nil
	}
	return []llm.Part{{Text: s}}
}

func thinking(text string, raw json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.Thinking, Text: text, Raw: string(raw)}
}

func call(id, name string, args json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: arguments(args)}
}

func result(id, text string, failed bool) llm.Part {
	return llm.Part{Kind: llm.ToolResult, CallID: id, Text: text, IsError: failed}
}

func opaque(raw json.RawMessage) llm.Part {
	return llm.Part{Kind: llm.Opaque, Raw: string(raw)}
}

// block is a content block of the Messages API, as several agents store it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"` // pi's name for input
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
		return text(str(content)), nil
	}
	for _, raw := range list(content) {
		var b block
		if decode(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			parts = append(parts, text(b.Text)...)
		case "thinking", "redacted_thinking":
			parts = append(parts, thinking(b.Thinking, raw))
		case "toolCall": // pi
			parts = append(parts, call(b.ID, b.Name, b.Arguments))
		case "tool_use":
			parts = append(parts, call(b.ID, b.Name, b.Input))
		case "tool_result":
			results = append(results, resultParts(b.ToolUseID, b.Content, b.IsError)...)
		case "":
		default: // images, documents, server tools
			parts = append(parts, opaque(raw))
		}
	}
	return parts, results
}

// resultParts reads the content of a tool's result. Its texts become one
// ToolResult; images follow as Opaque. A list that is not of blocks is the
// result's text as JSON: that is how it was sent.
func resultParts(id string, content json.RawMessage, isError bool) []llm.Part {
	if len(content) > 0 && content[0] == '"' {
		return []llm.Part{result(id, str(content), isError)}
	}
	var texts []string
	var others []llm.Part
	for _, raw := range list(content) {
		var b block
		switch err := decode(raw, &b); {
		case err != nil || b.Type == "":
			return []llm.Part{result(id, compact(content), isError)}
		case b.Type == "text":
			texts = append(texts, b.Text)
		default:
			others = append(others, opaque(raw))
		}
	}
	return append([]llm.Part{result(id, strings.Join(texts, "\n"), isError)}, others...)
}

// texts returns the strings in a value: itself, the elements of a list, the
// texts of blocks, the content of a file.
func texts(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	var all []string
	switch raw[0] {
	case '"':
		if s := str(raw); s != "" {
			all = []string{s}
		}
	case '[':
		for _, e := range list(raw) {
			all = append(all, texts(e)...)
		}
	case '{':
		var v struct {
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
			File    json.RawMessage `json:"file"`
		}
		if decode(raw, &v) == nil {
			if v.Text != "" {
				all = append(all, v.Text)
			}
			all = append(all, texts(v.Content)...)
			all = append(all, texts(v.File)...)
		}
	}
	return all
}
