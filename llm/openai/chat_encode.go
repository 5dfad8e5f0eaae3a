package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Encode implements llm.Codec. Local messages are left out, and so is
// reasoning that did not come from this API. The wire has no error flag for results.
// Several results in one message become several messages. A Chained request
// cannot be encoded.
func (Chat) Encode(req *llm.Request) ([]byte, error) {
	var w rawjson.Writer
	writeHead(&w, req, "max_tokens")
	if len(req.Tools) > 0 {
		w.Key("tools")
		w.Open('[')
		for _, t := range req.Tools {
			w.Open('{')
			w.Member("type", "function")
			w.Key("function")
			w.Open('{')
			writeFunction(&w, t.Name, t.Description, t.Schema)
			w.Close('}')
			w.Close('}')
		}
		w.Close(']')
	}
	w.Key("messages")
	w.Open('[')
	for i, m := range req.Messages {
		if !m.Local {
			writeChatMessage(&w, i, m)
		}
	}
	w.Close(']')
	if req.Stream {
		w.Key("stream")
		w.Bool(true)
		w.Key("stream_options")
		w.Raw(`{"include_usage":true}`, "")
	}
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		return nil, fmt.Errorf("chat request: %w", err)
	}
	return body, nil
}

// writeHead begins a request with what both APIs say alike, but for the name
// of the limit.
func writeHead(w *rawjson.Writer, req *llm.Request, limit string) {
	if req.Chained {
		w.Fail(errors.New("cannot continue a stored one"))
	}
	w.Open('{')
	w.Member("model", req.Model)
	if req.MaxTokens > 0 {
		w.Key(limit)
		w.Int(req.MaxTokens)
	}
	if req.SessionKey != "" {
		w.Member("prompt_cache_key", req.SessionKey)
	}
}

func writeFunction(w *rawjson.Writer, name, description string, schema []byte) {
	w.Member("name", name)
	if description != "" {
		w.Member("description", description)
	}
	if len(schema) > 0 {
		w.Key("parameters")
		w.Raw(string(schema), "schema of tool "+name)
	}
}

func writeChatMessage(w *rawjson.Writer, i int, m llm.Message) {
	if m.Role == llm.Tool {
		writeChatResults(w, i, m)
		return
	}
	w.Open('{')
	w.Key("role")
	switch m.Role {
	case llm.System, llm.User, llm.Assistant:
		w.String(string(m.Role))
	default:
		w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
	}
	var content, calls []llm.Part
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.ToolCall:
			calls = append(calls, p)
		case llm.ToolResult:
			w.Fail(fmt.Errorf("message %d: a tool's result in a message of role %s", i, m.Role))
		case llm.Thinking:
			writeThought(w, p.Raw)
		default:
			content = append(content, p)
		}
	}
	w.Key("content")
	switch {
	case len(content) == 0 && len(calls) > 0:
		w.Null()
	case len(content) == 0:
		w.String("") // an empty list is refused, and so is null without calls
	case len(content) == 1 && content[0].Kind == llm.Text:
		w.String(content[0].Text)
	default:
		writeParts(w, "text", content)
	}
	if len(calls) > 0 {
		w.Key("tool_calls")
		w.Open('[')
		for _, p := range calls {
			w.Open('{')
			w.Member("id", p.CallID)
			w.Member("type", "function")
			w.Key("function")
			w.Open('{')
			w.Member("name", p.Name)
			w.Member("arguments", p.Args)
			w.Close('}')
			w.Close('}')
		}
		w.Close(']')
	}
	w.Close('}')
}

// Reasoning has two names among compatible endpoints, and goes back under the
// one it came with. Raw is the string alone, or for the second name an object.
const (
	thoughtKey   = "reasoning_content"
	thoughtOther = "reasoning"
	otherHead    = `{"` + thoughtOther + `":`
)

// otherThought is the Raw of reasoning that came under the second name; text is
// a JSON string.
func otherThought(text string) string { return otherHead + text + "}" }

func writeThought(w *rawjson.Writer, raw string) {
	if strings.HasPrefix(raw, `"`) {
		w.Key(thoughtKey)
		w.Raw(raw, "reasoning")
	} else if text, ok := strings.CutPrefix(raw, otherHead); ok {
		w.Key(thoughtOther)
		w.Raw(strings.TrimSuffix(text, "}"), "reasoning")
	}
}

// writeParts writes a list of words and opaque parts; the words have the type
// kind.
func writeParts(w *rawjson.Writer, kind string, parts []llm.Part) {
	w.Open('[')
	for _, p := range parts {
		if p.Kind == llm.Text {
			w.Text(kind, p.Text)
		} else {
			w.Raw(p.Raw, "opaque part")
		}
	}
	w.Close(']')
}

func writeChatResults(w *rawjson.Writer, i int, m llm.Message) {
	for _, p := range m.Parts {
		if p.Kind != llm.ToolResult {
			w.Fail(fmt.Errorf("message %d: a tool's message holds something else than results", i))
			continue
		}
		w.Open('{')
		w.Member("role", "tool")
		w.Member("tool_call_id", p.CallID)
		w.Member("content", p.Text)
		w.Close('}')
	}
}
