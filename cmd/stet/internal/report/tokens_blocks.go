package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// blocks are the parts of a request that are not text: images, documents, calls of the provider's own tools, encrypted thinking. Their size
// is an estimate, whatever counts the text.
type blocks struct {
	Number int `json:"number"`
	Tokens int `json:"tokens"`
}

// mediaTokens is what an image, a sound or a document counts as, whose size in bytes says little.
const mediaTokens = 1600

// textTypes are the types of blocks that the codec reads as text, calls, results and thinking. Other blocks may be inside them.
var textTypes = []string{
	"", "text", "input_text", "output_text", "summary_text", "reasoning_text", "message", "function", "custom", "refusal", "thinking", "reasoning",
	"tool_use", "tool_result", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
}

// contentKeys are the members in which a request holds blocks.
var contentKeys = []string{"messages", "input", "contents", "system", "systemInstruction", "system_instruction", "content", "output", "parts", "functionResponse", "response"}

// countBlocks counts the blocks of a request's body, wherever they are: in messages, in results of tools, in the system text.
func countBlocks(body []byte, c tokens.Counter) (b blocks) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		b.walk(v, c)
	}
	return b
}

func (b *blocks) walk(v any, c tokens.Counter) {
	if list, ok := v.([]any); ok {
		for _, one := range list {
			b.walk(one, c)
		}
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	kind, _ := m["type"].(string)
	if !slices.Contains(textTypes, kind) {
		b.add(m, c)
		return
	}
	for key, inner := range m {
		switch {
		case slices.Contains(contentKeys, key):
			b.walk(inner, c)
		case slices.Contains([]string{"inlineData", "inline_data", "fileData", "file_data", "executableCode", "codeExecutionResult"}, key):
			b.add(inner, c)
		case key == "encrypted_content" || key == "reasoning_opaque": // of thinking that only the provider reads
			b.add(map[string]any{key: inner}, c)
		}
	}
}

func (b *blocks) add(v any, c tokens.Counter) {
	b.Number++
	b.Tokens += sizeOf("", v, c)
}

// sizeOf estimates the tokens of the strings in a block.
func sizeOf(key string, v any, c tokens.Counter) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			n += sizeOf(key, inner, c)
		}
	case []any:
		for _, inner := range v {
			n += sizeOf(key, inner, c)
		}
	case string:
		switch {
		case strings.HasPrefix(key, "encrypted_") || key == "reasoning_opaque" || key == "signature":
			return len(v) * 3 / 4 / 4 // of base64, four bytes a token
		case strings.HasPrefix(v, "data:"), strings.HasPrefix(v, "http"), key == "file_id", key == "fileUri", key == "file_uri",
			(key == "data" || key == "file_data") && !strings.ContainsAny(v, " \n"):
			return mediaTokens
		case key != "type" && key != "media_type" && key != "mimeType" && key != "id":
			return c.Count(v)
		}
	}
	return n
}

// withoutBlocks returns messages in which opaque parts are empty: countBlocks counts them.
func withoutBlocks(messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Parts = slices.DeleteFunc(slices.Clone(messages[i].Parts), func(p llm.Part) bool { return p.Kind == llm.Opaque })
	}
	return messages
}
