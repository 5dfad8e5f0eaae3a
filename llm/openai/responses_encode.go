package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Encode implements llm.Codec. It makes these changes:
//   - A system message of one text at the beginning becomes the instructions.
//   - A call whose arguments are not an object becomes a call of a custom tool, which takes text.
//   - Local messages are left out. So is reasoning of other APIs, or reasoning that cannot be sent back.
//   - Images of other APIs are converted. Other opaque parts of other APIs become text.
//   - Names of calls and tools that the API does not accept are replaced.
//   - Other parts among results become a user message.
//   - The error flag of results is left out, because the wire format has none.
//
// The request asks the provider not to store it. A Chained request cannot be encoded.
func (Responses) Encode(req *llm.Request) ([]byte, error) {
	var w rawjson.Writer
	writeHead(&w, req, "max_output_tokens")
	w.Key("store")
	w.Bool(false)
	if len(req.Tools) > 0 {
		w.Key("tools")
		w.Open('[')
		for _, t := range req.Tools {
			w.Open('{')
			w.Member("type", "function")
			llm.WriteTool(&w, t, "parameters")
			w.Close('}')
		}
		w.Close(']')
	}
	writeInput(&w, req)
	if req.Stream {
		w.Key("stream")
		w.Bool(true)
	}
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		return nil, fmt.Errorf("responses request: %w", err)
	}
	return body, nil
}

// itemWriter writes the items of one request.
type itemWriter struct {
	*rawjson.Writer
	ids     llm.CallIDs
	offered map[string]bool // names of the tools
	custom  map[string]bool // ids, as sent, of calls of tools that take text
}

func writeInput(out *rawjson.Writer, req *llm.Request) {
	messages := req.Messages
	w := itemWriter{out, llm.CallIDs{Max: maxResponsesID}, req.Offered(), make(map[string]bool)}
	first := 0
	for first < len(messages) && messages[first].Local {
		first++
	}
	if first < len(messages) {
		if m := messages[first]; m.Role == llm.System && len(m.Parts) == 1 && m.Parts[0].Kind == llm.Text {
			w.Member("instructions", m.Parts[0].Text)
			first++
		}
	}
	w.Key("input")
	w.Open('[')
	for i := first; i < len(messages); i++ {
		m := messages[i]
		if m.Local {
			continue
		}
		switch m.Role {
		case llm.System, llm.User:
			w.messageItem(string(m.Role), "input_text", responsesNative(m.Role, m.Parts))
		case llm.Assistant:
			w.turn(responsesNative(m.Role, m.Parts))
		case llm.Tool:
			w.outputs(m.Parts)
		default:
			w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
		}
	}
	w.Close(']')
}

// messageItem writes a message item.
func (w *itemWriter) messageItem(role, kind string, parts []llm.Part) {
	w.Open('{')
	w.Member("type", "message")
	w.Member("role", role)
	w.Key("content")
	writeParts(w.Writer, kind, parts)
	w.Close('}')
}

// isContent reports whether an opaque part of an assistant's message belongs into a message item. Otherwise it is an item itself.
func isContent(p llm.Part) bool {
	if p.Kind != llm.Opaque {
		return p.Kind == llm.Text
	}
	typ, _, _ := opaque(p.Raw)
	return isAnswered(typ)
}

var reasoningKeys = [3]string{"type", "encrypted_content", "content"}

// canBeSentBack reports whether raw is reasoning that can be sent back: its content is readable or encrypted. Otherwise the item only
// refers to one that the provider has not stored.
func canBeSentBack(raw string) bool {
	var f [3]rawjson.Span
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(reasoningKeys[:], f[:])
	if s.End() != nil || !rawjson.Is(b, f[0], "reasoning") {
		return false
	}
	list := rawjson.At(b, f[2])
	if f[2].KindOf(b) == '[' {
		list.Enter('[')
	}
	return len(rawjson.Word(b, f[1])) > 0 || f[2].KindOf(b) == '[' && list.Next()
}

func (w *itemWriter) turn(parts []llm.Part) {
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if isContent(p) {
			from := i
			for i+1 < len(parts) && isContent(parts[i+1]) {
				i++
			}
			w.messageItem("assistant", "output_text", parts[from:i+1])
			continue
		}
		switch p.Kind {
		case llm.ToolCall:
			w.call(p)
		case llm.Thinking:
			if canBeSentBack(p.Raw) {
				w.Raw(p.Raw, "reasoning")
			}
		case llm.Opaque:
			w.Raw(p.Raw, "opaque part")
		default:
			w.Fail(errors.New("a tool's result in a message of the assistant"))
		}
	}
}

func (w *itemWriter) call(p llm.Part) {
	id := w.ids.Call(p.CallID)
	args := strings.TrimLeft(p.Args, " \t\r\n")
	typ, key := "function_call", "arguments"
	if args != "" && args[0] != '{' {
		typ, key = "custom_tool_call", "input"
		w.custom[id] = true
	}
	w.Open('{')
	w.Member("type", typ)
	w.Member("call_id", id)
	w.Member("name", named(p.Name, w.offered))
	w.Member(key, p.Args)
	w.Close('}')
}

// outputs writes results, and then the other parts of their message.
func (w *itemWriter) outputs(parts []llm.Part) {
	var others []llm.Part
	for _, p := range parts {
		if typ, _, ok := opaque(p.Raw); p.Kind == llm.Opaque && ok && !isOutput(typ) {
			others = append(others, responsesNative(llm.User, []llm.Part{p})...)
			continue
		}
		if p.Kind != llm.ToolResult {
			w.Raw(p.Raw, "opaque part")
			continue
		}
		id := w.ids.Result(p.CallID)
		w.Open('{')
		if w.custom[id] {
			w.Member("type", "custom_tool_call_output")
		} else {
			w.Member("type", "function_call_output")
		}
		w.Member("call_id", id)
		w.Member("output", p.Text)
		w.Close('}')
	}
	if len(others) > 0 {
		w.messageItem(string(llm.User), "input_text", others)
	}
}
