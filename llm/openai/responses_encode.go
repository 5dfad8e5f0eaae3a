package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Encode implements llm.Codec. A system message of one text at the beginning
// becomes the instructions. A call whose arguments are no object is one of a custom
// tool, which takes text. Local messages are left out, and so is reasoning that did
// not come from this API, or that cannot go back to it. The wire has no error flag for results. The request asks
// not to be stored. A Chained request cannot be encoded.
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
			writeFunction(&w, t.Name, t.Description, t.Schema)
			w.Close('}')
		}
		w.Close(']')
	}
	writeInput(&w, req.Messages)
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

func writeInput(w *rawjson.Writer, messages []llm.Message) {
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
	custom := make(map[string]bool)
	w.Key("input")
	w.Open('[')
	for i := first; i < len(messages); i++ {
		m := messages[i]
		if m.Local {
			continue
		}
		switch m.Role {
		case llm.System, llm.User:
			writeSaid(w, string(m.Role), "input_text", m.Parts)
		case llm.Assistant:
			writeTurn(w, m.Parts, custom)
		case llm.Tool:
			writeOutputs(w, m.Parts, custom)
		default:
			w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
		}
	}
	w.Close(']')
}

// writeSaid writes a message item.
func writeSaid(w *rawjson.Writer, role, kind string, parts []llm.Part) {
	w.Open('{')
	w.Member("type", "message")
	w.Member("role", role)
	w.Key("content")
	writeParts(w, kind, parts)
	w.Close('}')
}

// isContent reports whether an opaque part of an assistant's message belongs
// into a message item, and is not an item itself.
func isContent(p llm.Part) bool {
	if p.Kind != llm.Opaque {
		return p.Kind == llm.Text
	}
	typ := typeOf(p.Raw)
	return typ == "refusal" || strings.HasPrefix(typ, "output_") || strings.HasPrefix(typ, "input_")
}

// typeOf is the type that a part's JSON names, "" if it names none.
func typeOf(raw string) string {
	var f [1]rawjson.Span
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(contentKeys[:1], f[:])
	if s.End() != nil {
		return ""
	}
	return string(rawjson.Word(b, f[0]))
}

var reasoningKeys = [3]string{"type", "encrypted_content", "content"}

// goesBack reports whether raw is reasoning that can be sent back: with content
// of its own, or encrypted. An item without is a mere reference to one that the
// provider has not stored.
func goesBack(raw string) bool {
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

func writeTurn(w *rawjson.Writer, parts []llm.Part, custom map[string]bool) {
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if isContent(p) {
			from := i
			for i+1 < len(parts) && isContent(parts[i+1]) {
				i++
			}
			writeSaid(w, "assistant", "output_text", parts[from:i+1])
			continue
		}
		switch p.Kind {
		case llm.ToolCall:
			writeCall(w, p, custom)
		case llm.Thinking:
			if goesBack(p.Raw) {
				w.Raw(p.Raw, "reasoning")
			}
		case llm.Opaque:
			w.Raw(p.Raw, "opaque part")
		default:
			w.Fail(errors.New("a tool's result in a message of the assistant"))
		}
	}
}

func writeCall(w *rawjson.Writer, p llm.Part, custom map[string]bool) {
	args := strings.TrimLeft(p.Args, " \t\r\n")
	typ, key := "function_call", "arguments"
	if args != "" && args[0] != '{' {
		typ, key = "custom_tool_call", "input"
		custom[p.CallID] = true
	}
	w.Open('{')
	w.Member("type", typ)
	w.Member("call_id", p.CallID)
	w.Member("name", p.Name)
	w.Member(key, p.Args)
	w.Close('}')
}

func writeOutputs(w *rawjson.Writer, parts []llm.Part, custom map[string]bool) {
	for _, p := range parts {
		if p.Kind != llm.ToolResult {
			w.Raw(p.Raw, "opaque part")
			continue
		}
		w.Open('{')
		if custom[p.CallID] {
			w.Member("type", "custom_tool_call_output")
		} else {
			w.Member("type", "function_call_output")
		}
		w.Member("call_id", p.CallID)
		w.Member("output", p.Text)
		w.Close('}')
	}
}
