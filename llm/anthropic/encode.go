package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// DefaultMaxTokens is used for a request with MaxTokens 0. The API requires a number, and every model accepts this one.
const DefaultMaxTokens = 4096

// Encode implements llm.Codec. It makes these changes:
//   - System messages at the beginning become the system text. Later ones become messages.
//   - Tool results, and a user message right after them, share one message on the wire. In a message with results, all other
//     parts come after the results.
//   - Local messages are left out. So is what the API refuses: blank texts, thinking of other APIs, and messages with nothing else.
//   - Images of other APIs are converted. Other opaque parts of other APIs become text.
//   - Names of calls and tools that the API does not accept are replaced.
//   - The places of Request.Cache get markers.
//
// A Chained request cannot be encoded.
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
	messages := sent(&w, req)
	m := marksOf(req.Cache, req.Messages, messages)
	writeTools(&w, req, m)
	writeMessages(&w, messages, m)
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

// sentMessage is the part of a message that is sent, with the index of the message in the request.
type sentMessage struct {
	llm.Message
	index int
}

// sent returns the messages of req in the form in which they are sent.
func sent(w *rawjson.Writer, req *llm.Request) []sentMessage {
	out := make([]sentMessage, 0, len(req.Messages))
	ids, offered := llm.CallIDs{Plain: true}, req.Offered()
	for i, m := range req.Messages {
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
			switch p.Kind {
			case llm.Opaque:
				p = native(m.Role, p)
			case llm.ToolCall:
				p.CallID = ids.Call(p.CallID)
				if !offered[p.Name] {
					p.Name = llm.LegalName(p.Name, maxName)
				}
			case llm.ToolResult:
				p.CallID = ids.Result(p.CallID)
			}
			if p.Kind == llm.Text && strings.TrimSpace(p.Text) == "" || p.Kind == llm.Thinking && !isThinking(p.Raw) {
				continue
			}
			parts = append(parts, p)
		}
		if m.Role == llm.Tool { // the API requires all results before other parts
			slices.SortStableFunc(parts, func(a, b llm.Part) int { return cmp.Compare(notResult(a), notResult(b)) })
		}
		if len(parts) > 0 {
			out = append(out, sentMessage{llm.Message{Role: m.Role, Parts: parts}, i})
		}
	}
	return out
}

func notResult(p llm.Part) int {
	if p.Kind == llm.ToolResult {
		return 0
	}
	return 1
}

// isThinking reports whether raw is thinking in the format of this API.
func isThinking(raw string) bool {
	var at [1]rawjson.Span
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(partKeys[:1], at[:])
	return s.End() == nil && (rawjson.Is(b, at[0], "thinking") || rawjson.Is(b, at[0], "redacted_thinking"))
}

func writeTools(w *rawjson.Writer, req *llm.Request, m *marks) {
	if len(req.Tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	for i, t := range req.Tools {
		w.Open('{')
		llm.WriteTool(w, t, "input_schema")
		if len(t.Schema) == 0 {
			w.Key("input_schema")
			w.Raw(`{"type":"object"}`, "")
		}
		m.writeTool(w, i, len(req.Tools))
		w.Close('}')
	}
	w.Close(']')
}

// systemEnd returns the number of system messages at the beginning.
func systemEnd(messages []sentMessage) int {
	n := 0
	for n < len(messages) && messages[n].Role == llm.System {
		n++
	}
	return n
}

func writeMessages(w *rawjson.Writer, messages []sentMessage, m *marks) {
	first := systemEnd(messages)
	if first > 0 {
		w.Key("system")
		w.Open('[')
		for i := range first {
			writeParts(w, i, messages[i].Parts, m)
		}
		w.Close(']')
	}
	w.Key("messages")
	w.Open('[')
	for i := first; i < len(messages); i++ {
		role := messages[i].Role
		w.Open('{')
		if role == llm.Tool {
			w.Member("role", string(llm.User))
		} else {
			w.Member("role", string(role))
		}
		w.Key("content")
		w.Open('[')
		writeParts(w, i, messages[i].Parts, m)
		for role == llm.Tool && i+1 < len(messages) &&
			(messages[i+1].Role == llm.Tool || messages[i+1].Role == llm.User) {
			i++
			role = messages[i].Role
			writeParts(w, i, messages[i].Parts, m)
		}
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
}

// writeParts writes the parts of message i.
func writeParts(w *rawjson.Writer, i int, parts []llm.Part, m *marks) {
	for j, p := range parts {
		switch p.Kind {
		case llm.Text:
			w.Open('{')
			w.Member("type", "text")
			w.Member("text", p.Text)
		case llm.ToolCall:
			w.Open('{')
			w.Member("type", "tool_use")
			w.Member("id", p.CallID)
			w.Member("name", p.Name)
			w.Key("input")
			w.Object(p.Args)
		case llm.ToolResult:
			w.Open('{')
			w.Member("type", "tool_result")
			w.Member("tool_use_id", p.CallID)
			w.Member("content", p.Text)
			if p.IsError {
				w.Key("is_error")
				w.Bool(true)
			}
		case llm.Thinking:
			w.Raw(p.Raw, "reasoning")
			continue
		default:
			w.Raw(p.Raw, "opaque part")
			continue
		}
		m.write(w, i, j)
		w.Close('}')
	}
}
