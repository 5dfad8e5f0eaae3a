package anthropic

import (
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// DefaultMaxTokens is what a request with MaxTokens 0 asks for: the API wants
// a number, and every model takes this one.
const DefaultMaxTokens = 4096

// Encode implements llm.Codec. System messages at the beginning become the
// system text, later ones messages; results of tools, and what the user says
// right after them, share one message on the wire. Local messages are left out,
// and what the API refuses: empty texts, reasoning without its Raw, messages
// of nothing else. A Chained request cannot be encoded.
func (Messages) Encode(req *llm.Request) ([]byte, error) {
	var w rawjson.Writer
	if req.Chained {
		w.Fail(errors.New("cannot continue a stored one"))
	}
	w.Open('{')
	w.Member("model", req.Model)
	w.Key("max_tokens")
	if req.MaxTokens > 0 {
		w.Int(req.MaxTokens)
	} else {
		w.Int(DefaultMaxTokens)
	}
	if req.SessionKey != "" {
		var id rawjson.Writer
		id.Open('{')
		id.Member("session_id", req.SessionKey)
		id.Close('}')
		text, _ := id.Bytes()
		w.Key("metadata")
		w.Open('{')
		w.Member("user_id", string(text))
		w.Close('}')
	}
	writeTools(&w, req)
	writeMessages(&w, sent(&w, req.Messages))
	if req.Stream {
		w.Key("stream")
		w.Bool(true)
	}
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		return nil, fmt.Errorf("messages request: %w", err)
	}
	return body, nil
}

// sent returns the messages with what is sent of them.
func sent(w *rawjson.Writer, messages []llm.Message) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for i, m := range messages {
		if m.Local {
			continue
		}
		switch m.Role {
		case llm.System, llm.User, llm.Assistant, llm.Tool:
		default:
			w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
		}
		var parts []llm.Part
		for _, p := range m.Parts {
			if p.Kind == llm.Text && p.Text == "" || p.Kind == llm.Thinking && !rawjson.IsObject(p.Raw) {
				continue
			}
			parts = append(parts, p)
		}
		if len(parts) > 0 {
			out = append(out, llm.Message{Role: m.Role, Parts: parts})
		}
	}
	return out
}

func writeTools(w *rawjson.Writer, req *llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	for _, t := range req.Tools {
		w.Open('{')
		w.Member("name", t.Name)
		if t.Description != "" {
			w.Member("description", t.Description)
		}
		w.Key("input_schema")
		if len(t.Schema) > 0 {
			w.Raw(string(t.Schema), "schema of tool "+t.Name)
		} else {
			w.Raw(`{"type":"object"}`, "")
		}
		w.Close('}')
	}
	w.Close(']')
}

func writeMessages(w *rawjson.Writer, messages []llm.Message) {
	first := 0
	for first < len(messages) && messages[first].Role == llm.System {
		first++
	}
	if first > 0 {
		w.Key("system")
		w.Open('[')
		for _, m := range messages[:first] {
			writeParts(w, m.Parts)
		}
		w.Close(']')
	}
	w.Key("messages")
	w.Open('[')
	for i := first; i < len(messages); i++ {
		m := messages[i]
		w.Open('{')
		role := m.Role
		if role == llm.Tool {
			role = llm.User
		}
		w.Member("role", string(role))
		w.Key("content")
		w.Open('[')
		writeParts(w, m.Parts)
		for m.Role == llm.Tool && i+1 < len(messages) &&
			(messages[i+1].Role == llm.Tool || messages[i+1].Role == llm.User) {
			i++
			m = messages[i]
			writeParts(w, m.Parts)
		}
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
}

func writeParts(w *rawjson.Writer, parts []llm.Part) {
	for _, p := range parts {
		switch p.Kind {
		case llm.Text:
			w.Text("text", p.Text)
		case llm.Thinking:
			w.Raw(p.Raw, "reasoning")
		case llm.ToolCall:
			w.Open('{')
			w.Member("type", "tool_use")
			w.Member("id", p.CallID)
			w.Member("name", p.Name)
			w.Key("input")
			writeInput(w, p.Args)
			w.Close('}')
		case llm.ToolResult:
			w.Open('{')
			w.Member("type", "tool_result")
			w.Member("tool_use_id", p.CallID)
			w.Member("content", p.Text)
			if p.IsError {
				w.Key("is_error")
				w.Bool(true)
			}
			w.Close('}')
		default:
			w.Raw(p.Raw, "opaque part")
		}
	}
}

// writeInput writes a call's arguments, which must be an object: those that
// are none go into one.
func writeInput(w *rawjson.Writer, args string) {
	if rawjson.IsObject(args) {
		w.Raw(args, "arguments")
		return
	}
	w.Open('{')
	if args != "" {
		w.Member("input", args)
	}
	w.Close('}')
}
