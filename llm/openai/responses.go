package openai

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Responses is the codec of the Responses API (POST /v1/responses). The zero value is ready to use.
//
// Consecutive items of reasoning, messages and calls become one message of role Assistant. Every tool output becomes a
// message of role Tool. So new items do not change earlier messages, but may extend the last one.
type Responses struct{ llm.InPlace }

// ResponsesAPI is the Responses API.
var ResponsesAPI = llm.API{
	Name: llm.Responses, Path: "/v1/responses", Codec: Responses{}, CacheRule: "openai", Error: errorBody,
	Upstream: "https://api.openai.com/v1", Provider: "OpenAI", ListPath: "/models", URLVariable: "OPENAI_BASE_URL", KeyVariable: "OPENAI_API_KEY",
	Reader: func(emit func(llm.Event)) llm.Reader { return &responsesReader{emit: emit} },
	Based:  true, KeyHeader: "Authorization", KeyPrefix: "Bearer ",
}

// UsageOf implements llm.Codec. input_tokens include tokens read from and written to the cache; output_tokens include reasoning.
func (Responses) UsageOf(raw []byte) (llm.Usage, error) { return usageOf(raw) }

// Session implements llm.Codec.
func (Responses) Session(header func(string) string, req *llm.Request) (conversation, agent string) {
	return session(header, req)
}

const (
	resInput = iota
	resInstructions
	resModel
	resTools
	resMaxTokens
	resStream
	resCacheKey
	resPrevious
	resConversation
	resRetention
	resCacheOptions
	resTruncation
	resManagement
	resKeyCount
)

var resKeys = [resKeyCount]string{
	"input", "instructions", "model", "tools", "max_output_tokens", "stream", "prompt_cache_key",
	"previous_response_id", "conversation", "prompt_cache_retention", "prompt_cache_options", "truncation",
	"context_management",
}

// Decode implements llm.Codec.
func (c Responses) Decode(body []byte) (*llm.Request, error) { return c.DecodeAfter(body, nil, nil, 0) }

// DecodeAfter implements llm.Codec.
func (Responses) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.responses(earlier, earlierBody, same)
	if err != nil {
		return nil, fmt.Errorf("responses request: %w", err)
	}
	return req, nil
}

func (d *decoder) responses(earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	var f [resKeyCount]rawjson.Span
	found := d.Walk(&d.Walked, d.Resume(earlier, earlierBody, same), resKeys[resInput], resKeys[:], f[:], d.items)
	if d.Err() != nil {
		return nil, d.Err()
	}
	switch at := f[resInput]; {
	case found != at.IsZero():
		d.FailAt(at, "no input, or two")
	case at.KindOf(d.Body) == '"':
		d.content(at)
		d.End(llm.User)
	case !found:
		d.FailAt(at, "input is neither text nor items")
	}
	if at := f[resInstructions]; !at.IsZero() {
		d.AddText(at)
		d.EndFirst(llm.System)
		d.First = 1
	}
	req := &llm.Request{
		Model:      d.Own(f[resModel]),
		Stream:     rawjson.True(d.Body, f[resStream]),
		SessionKey: d.Own(f[resCacheKey]),
		Previous:   d.Own(f[resPrevious]),
		Chained:    !f[resPrevious].IsZero() || !f[resConversation].IsZero(),
	}
	req.MaxTokens, _ = rawjson.Int(d.Body, f[resMaxTokens])
	req.Caching.Lifetime = d.retention(f[resRetention], f[resCacheOptions])
	req.Caching.Clears = d.Summarized > 0
	for range rawjson.Elements(d.Body, f[resManagement]) {
		req.Caching.Clears = true // the provider is to change the prompt itself
		break
	}
	req.Caching.Cuts = d.OneOf(f[resTruncation], "auto")
	if d.Tools = f[resTools]; !d.Tools.IsZero() && !d.SameTools(req, earlier, earlierBody) {
		s := rawjson.At(d.Body, d.Tools)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			d.responsesTool(req, &s)
		}
		d.Fail(s.Err())
	}
	return d.Finish(req)
}

var toolKinds = [2]string{"type", "tools"}

// responsesTool adds the next tool, or the tools of the next namespace.
func (d *decoder) responsesTool(req *llm.Request, s *rawjson.Scanner) {
	var f [2]rawjson.Span
	whole := s.Object(toolKinds[:], f[:])
	if whole.IsZero() {
		return
	}
	if rawjson.Is(d.Body, f[0], "namespace") && f[1].KindOf(d.Body) == '[' {
		in := rawjson.At(d.Body, f[1])
		for in.Enter('['); in.Next() && d.Err() == nil; {
			d.tool(req, &in, rawjson.Span{})
		}
		d.Fail(in.Err())
		return
	}
	t := rawjson.At(d.Body, whole)
	d.tool(req, &t, f[0])
}

const (
	itemType = iota
	itemRole
	itemContent
	itemCallID
	itemName
	itemArguments
	itemInput
	itemOutput
	itemAction
	itemSummary
	itemID
	itemCaller
	itemKeyCount
)

var itemKeys = [itemKeyCount]string{
	"type", "role", "content", "call_id", "name", "arguments", "input", "output", "action", "summary", "id", "caller",
}

// items reads the remaining items of the array that s is in. A walk cannot be cut within a message of the model.
func (d *decoder) items(s *rawjson.Scanner) {
	open := false // the last message is the model's and may continue
	for s.Next() && d.Err() == nil {
		var f [itemKeyCount]rawjson.Span
		whole := s.Object(itemKeys[:], f[:])
		if whole.IsZero() {
			break
		}
		role := d.item(whole, f)
		extends := open && role == llm.Assistant
		if extends {
			d.Extend()
		} else {
			d.End(role)
		}
		if d.OneOf(f[itemType], "compaction", "compaction_summary") {
			d.Summary()
		}
		if extends {
			continue
		}
		if open = role == llm.Assistant; !open {
			d.Cut(s)
		}
	}
	d.Fail(s.Err())
}

// item adds the parts of one item and returns its role.
func (d *decoder) item(whole rawjson.Span, f [itemKeyCount]rawjson.Span) llm.Role {
	typ := d.Word(f[itemType])
	if typ == "" && !f[itemRole].IsZero() {
		typ = "message"
	}
	switch typ {
	case "message":
		d.content(f[itemContent])
		switch d.Word(f[itemRole]) {
		case "user":
			return llm.User
		case "assistant":
			return llm.Assistant
		case "":
			d.FailAt(whole, "a message without a role")
			return ""
		}
		return llm.System // "system", "developer" and unknown roles: their text stays as it is
	case "function_call", "custom_tool_call", "local_shell_call":
		d.Add(d.call(typ, f))
		return llm.Assistant
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		id := d.String(f[itemCallID])
		if id == "" {
			id = d.String(f[itemID])
		}
		d.result(id, f[itemOutput], false)
		return llm.Tool
	case "reasoning":
		p := llm.Part{Kind: llm.Thinking, Raw: d.Raw(whole)}
		if at := f[itemSummary]; at.KindOf(d.Body) == '[' {
			p.Text, _ = d.Joined(at, "summary_text")
		}
		d.Add(p)
		return llm.Assistant
	}
	d.Add(llm.Part{Kind: llm.Opaque, Raw: d.Raw(whole)})
	if typ == "compaction_trigger" { // the client asks for a compaction
		return llm.User
	}
	if strings.HasSuffix(typ, "_output") || typ == "mcp_approval_response" {
		return llm.Tool
	}
	return llm.Assistant
}

// call reads a call of a tool that the client runs.
func (d *decoder) call(typ string, f [itemKeyCount]rawjson.Span) llm.Part {
	p := llm.Part{Kind: llm.ToolCall, CallID: d.String(f[itemCallID]), ByCode: d.ByCode(f[itemCaller])}
	switch typ {
	case "local_shell_call":
		p.Name, p.Args = "local_shell", d.Raw(f[itemAction])
	case "custom_tool_call":
		p.Name = d.String(f[itemName])
		d.args(&p, f[itemInput])
	default:
		p.Name = d.String(f[itemName])
		d.args(&p, f[itemArguments])
	}
	return p
}
