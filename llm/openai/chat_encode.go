package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Encode implements llm.Codec. It makes these changes:
//   - Local messages and reasoning of other APIs are left out.
//   - Images of other APIs are converted. Other opaque parts of other APIs become text.
//   - Names of calls and tools that the API does not accept are replaced.
//   - Several results in one message become several messages. Other parts among results become a user message after them.
//   - The error flag of results is left out, because the wire format has none.
//
// A Chained request cannot be encoded.
func (Chat) Encode(req *llm.Request) ([]byte, error) { return encodeChat(req, "max_tokens") }

// encodeAt is Encode for the given host. Newer models of the provider itself refuse max_tokens. Some compatible endpoints know only that.
func encodeAt(host string, req *llm.Request) ([]byte, error) {
	name, _, _ := strings.Cut(host, ":")
	if name == "api.openai.com" || strings.HasSuffix(name, ".openai.azure.com") {
		return encodeChat(req, "max_completion_tokens")
	}
	return encodeChat(req, "max_tokens")
}

// encodeChat writes a request. limit is the member for MaxTokens.
func encodeChat(req *llm.Request, limit string) ([]byte, error) {
	var w rawjson.Writer
	writeHead(&w, req, limit)
	if len(req.Tools) > 0 {
		w.Key("tools")
		w.Open('[')
		for _, t := range req.Tools {
			w.Open('{')
			w.Member("type", "function")
			w.Key("function")
			w.Open('{')
			llm.WriteTool(&w, t, "parameters")
			w.Close('}')
			w.Close('}')
		}
		w.Close(']')
	}
	w.Key("messages")
	w.Open('[')
	c := chatWriter{Writer: &w, ids: llm.CallIDs{Max: maxChatID}, offered: req.Offered()}
	for i, m := range req.Messages {
		if !m.Local {
			c.message(i, m)
		}
	}
	c.writeOthers()
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

// writeHead writes the first members of a request, which are the same in both APIs except for the name of the token limit.
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

// chatWriter writes the messages of one request.
type chatWriter struct {
	*rawjson.Writer
	ids     llm.CallIDs
	offered map[string]bool // names of the tools
	others  []llm.Part      // parts that were among results and are written after the last result
}

// writeOthers writes the parts in others.
func (w *chatWriter) writeOthers() {
	if len(w.others) == 0 {
		return
	}
	w.Open('{')
	w.Member("role", string(llm.User))
	w.Key("content")
	writeParts(w.Writer, "text", w.others)
	w.Close('}')
	w.others = nil
}

func (w *chatWriter) message(i int, m llm.Message) {
	if m.Role == llm.Tool {
		w.results(i, m)
		return
	}
	w.writeOthers()
	w.Open('{')
	w.Key("role")
	switch m.Role {
	case llm.System, llm.User, llm.Assistant:
		w.String(string(m.Role))
	default:
		w.Fail(fmt.Errorf("message %d: unknown role %q", i, m.Role))
	}
	var content, calls []llm.Part
	for _, p := range chatNative(m.Role, m.Parts) {
		switch p.Kind {
		case llm.ToolCall:
			calls = append(calls, p)
		case llm.ToolResult:
			w.Fail(fmt.Errorf("message %d: a tool's result in a message of role %s", i, m.Role))
		case llm.Thinking:
			writeThought(w.Writer, p.Raw)
		default:
			content = append(content, p)
		}
	}
	w.Key("content")
	switch {
	case len(content) == 0 && len(calls) > 0:
		w.Null()
	case len(content) == 0:
		w.String("") // an empty list is refused; so is null without calls
	case len(content) == 1 && content[0].Kind == llm.Text:
		w.String(content[0].Text)
	default:
		writeParts(w.Writer, "text", content)
	}
	if len(calls) > 0 {
		w.Key("tool_calls")
		w.Open('[')
		for _, p := range calls {
			w.Open('{')
			w.Member("id", w.ids.Call(p.CallID))
			w.Member("type", "function")
			w.Key("function")
			w.Open('{')
			w.Member("name", named(p.Name, w.offered))
			w.Member("arguments", p.Args)
			w.Close('}')
			w.Close('}')
		}
		w.Close(']')
	}
	w.Close('}')
}

// Compatible endpoints use several names for reasoning. It is sent back under the name with which it came. Raw is only the string, or an object
// for other names.
const (
	thoughtKey   = "reasoning_content"
	thoughtOther = "reasoning"
)

// signedThoughts are members of a message. Gateways to other providers use them to pass on thinking, together with the data that
// the provider needs to accept the thinking again, for example a signature.
var signedThoughts = [...]string{"reasoning_details", "thinking_blocks", "reasoning_opaque"}

// thoughtNamed returns the Raw of reasoning under any name but the first.
func thoughtNamed(name, value string) string { return `{"` + name + `":` + value + "}" }

func writeThought(w *rawjson.Writer, raw string) {
	if strings.HasPrefix(raw, `"`) {
		w.Key(thoughtKey)
		w.Raw(raw, "reasoning")
		return
	}
	for _, name := range append(signedThoughts[:], thoughtOther) {
		if value, ok := strings.CutPrefix(raw, `{"`+name+`":`); ok {
			w.Key(name)
			w.Raw(strings.TrimSuffix(value, "}"), "reasoning")
		}
	}
}

// writeParts writes a list of texts and opaque parts. kind is the type of the texts.
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

func (w *chatWriter) results(i int, m llm.Message) {
	for _, p := range m.Parts {
		if p.Kind == llm.Opaque {
			w.others = append(w.others, chatNative(llm.User, []llm.Part{p})...)
			continue
		}
		if p.Kind != llm.ToolResult {
			w.Fail(fmt.Errorf("message %d: a tool's message holds something else than results", i))
			continue
		}
		w.Open('{')
		w.Member("role", "tool")
		w.Member("tool_call_id", w.ids.Result(p.CallID))
		w.Member("content", p.Text)
		w.Close('}')
	}
}
