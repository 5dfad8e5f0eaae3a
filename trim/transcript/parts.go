package transcript

import (
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// This file makes the parts of messages. Several agents store the content of a message as blocks of the Messages API.

// text returns a text part, or none for an empty text.
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

// block is a content block of the Messages API, in the form in which several agents store it.
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

// blocks reads the content of a message, which is a string or a list of blocks. It returns the results of tools separately
// from the other parts.
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

// resultParts reads the content of a tool's result. Its texts become one ToolResult. Images follow it as Opaque parts. If
// the content is a list of something else than blocks, the result's text is the list as JSON, because it was sent in this
// form.
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

// texts returns the strings in a value: the value itself, the elements of a list, the texts of blocks, and the content of a
// file.
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
