package gemini

import (
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Encode implements llm.Codec. It makes these changes:
//   - Local messages and thinking of other APIs are left out.
//   - A system message at the beginning becomes the system instruction. A later one becomes a user message.
//   - Model and Stream are left out, because they are not in the body.
//   - Signatures are kept only on thoughts, because a [llm.Request] has no field for the signatures of calls. So the body is for
//     models that do not check signatures.
//
// A Chained request cannot be encoded.
func (GenerateContent) Encode(req *llm.Request) ([]byte, error) {
	w := &writer{names: map[string]string{}}
	if req.Chained {
		w.Fail(errors.New("cannot continue a stored one"))
	}
	w.Open('{')
	messages := req.Messages
	if len(messages) > 0 && messages[0].Role == llm.System && !messages[0].Local {
		w.Key("systemInstruction")
		w.content("", messages[0].Parts)
		messages = messages[1:]
	}
	w.tools(req)
	w.Key("contents")
	w.Open('[')
	w.contents(messages)
	w.Close(']')
	if req.MaxTokens > 0 {
		w.Key("generationConfig")
		w.Open('{')
		w.Key("maxOutputTokens")
		w.Int(req.MaxTokens)
		w.Close('}')
	}
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		return nil, fmt.Errorf("gemini request: %w", err)
	}
	return body, nil
}

// writer writes one request.
type writer struct {
	rawjson.Writer
	names map[string]string // names of functions, by the id of the call
}

func (w *writer) tools(req *llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	w.Open('{')
	w.Key("functionDeclarations")
	w.Open('[')
	for _, t := range req.Tools {
		w.Open('{')
		llm.WriteTool(&w.Writer, t, "parametersJsonSchema")
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	w.Close(']')
}

// contents writes the messages. Consecutive results become one content.
func (w *writer) contents(messages []llm.Message) {
	var results []llm.Part
	flush := func() {
		if len(results) > 0 {
			w.content("user", results)
			results = nil
		}
	}
	for i, m := range messages {
		if m.Local {
			continue
		}
		if m.Role == llm.Tool {
			results = append(results, m.Parts...)
			continue
		}
		flush()
		switch m.Role {
		case llm.User, llm.System:
			w.content("user", m.Parts)
		case llm.Assistant:
			w.content("model", m.Parts)
		default:
			w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
		}
	}
	flush()
}

// content writes one content. Without parts, it has an empty list of parts.
func (w *writer) content(role string, parts []llm.Part) {
	w.Open('{')
	if role != "" {
		w.Member("role", role)
	}
	w.Key("parts")
	w.Open('[')
	for _, p := range parts {
		w.part(p)
	}
	w.Close(']')
	w.Close('}')
}

func (w *writer) part(p llm.Part) {
	switch p.Kind {
	case llm.Thinking:
		if isThought(p.Raw) {
			w.Raw(p.Raw, "thought")
		}
	case llm.Opaque:
		w.Raw(p.Raw, "opaque part")
	case llm.ToolCall:
		w.names[p.CallID] = p.Name
		w.Open('{')
		w.Key("functionCall")
		w.Open('{')
		w.Member("id", p.CallID)
		w.Member("name", p.Name)
		w.Key("args")
		w.Object(p.Args)
		w.Close('}')
		w.Close('}')
	case llm.ToolResult:
		w.Open('{')
		w.Key("functionResponse")
		w.Open('{')
		w.Member("id", p.CallID)
		w.Member("name", w.names[p.CallID])
		w.Key("response")
		w.Open('{')
		if p.IsError {
			w.Member("error", p.Text)
		} else {
			w.Member("output", p.Text)
		}
		w.Close('}')
		w.Close('}')
		w.Close('}')
	default:
		w.Open('{')
		w.Member("text", p.Text)
		w.Close('}')
	}
}

// isThought reports whether raw is a thought in the format of this API.
func isThought(raw string) bool {
	var f fields
	b := []byte(raw)
	s := rawjson.New(b)
	s.Object(partKeys[:], f[:])
	return s.Err() == nil && rawjson.True(b, f[keyThought]) && rawjson.IsObject(raw)
}
