package openai

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Chat is the codec of Chat Completions (POST /v1/chat/completions). The zero value is ready to use. Every message on the
// wire becomes one message.
type Chat struct{ llm.InPlace }

// ChatAPI is the API of Chat Completions: OpenAI's own or a compatible one.
var ChatAPI = llm.API{
	Name: llm.Chat, Path: "/v1/chat/completions", Codec: Chat{}, CacheRule: "openai", Error: errorBody,
	Upstream: "https://api.openai.com/v1", Provider: "OpenAI", ListPath: "/models", URLVariable: "OPENAI_BASE_URL", KeyVariable: "OPENAI_API_KEY",
	Reader:   func(emit func(llm.Event)) llm.Reader { return &chatReader{emit: emit} },
	EncodeAt: encodeAt, Based: true, KeyHeader: "Authorization", KeyPrefix: "Bearer ",
}

// UsageOf implements llm.Codec. prompt_tokens include tokens read from and written to the cache; completion_tokens include reasoning.
func (Chat) UsageOf(raw []byte) (llm.Usage, error) { return usageOf(raw) }

// Session implements llm.Codec.
func (Chat) Session(header func(string) string, req *llm.Request) (conversation, agent string) {
	return session(header, req)
}

const (
	chatMessages = iota
	chatModel
	chatTools
	chatMaxTokens
	chatMaxCompletion
	chatStream
	chatCacheKey
	chatRetention
	chatCacheOptions
	chatKeyCount
)

var chatKeys = [chatKeyCount]string{
	"messages", "model", "tools", "max_tokens", "max_completion_tokens", "stream", "prompt_cache_key",
	"prompt_cache_retention", "prompt_cache_options",
}

// Decode implements llm.Codec.
func (c Chat) Decode(body []byte) (*llm.Request, error) { return c.DecodeAfter(body, nil, nil, 0) }

// DecodeAfter implements llm.Codec.
func (Chat) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.chat(earlier, earlierBody, same)
	if err != nil {
		return nil, fmt.Errorf("chat request: %w", err)
	}
	return req, nil
}

func (d *decoder) chat(earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	var f [chatKeyCount]rawjson.Span
	if found := d.Walk(&d.Walked, d.Resume(earlier, earlierBody, same), chatKeys[chatMessages], chatKeys[:], f[:], d.chatMessages); d.Err() != nil {
		return nil, d.Err()
	} else if !found || !f[chatMessages].IsZero() {
		return nil, errors.New("no messages, or two")
	}
	req := &llm.Request{
		Model:      d.Own(f[chatModel]),
		Stream:     rawjson.True(d.Body, f[chatStream]),
		SessionKey: d.Own(f[chatCacheKey]),
	}
	req.MaxTokens, _ = rawjson.Int(d.Body, f[chatMaxTokens])
	if n, ok := rawjson.Int(d.Body, f[chatMaxCompletion]); ok {
		req.MaxTokens = n
	}
	req.Caching.Lifetime = d.retention(f[chatRetention], f[chatCacheOptions])
	if d.Tools = f[chatTools]; !d.SameTools(req, earlier, earlierBody) {
		d.chatTools(req, f[chatTools])
	}
	return d.Finish(req)
}

const (
	msgRole = iota
	msgContent
	msgToolCalls
	msgToolCallID
	msgName
	msgFunctionCall
	msgReasoning
	msgRefusal
	msgReasoningOther
	msgMessageStatus
	msgStatus
	msgTimestamp
	msgSigned   // this index and the next ones are for signedThoughts
	msgKeyCount = msgSigned + len(signedThoughts)
)

var msgKeys = [msgKeyCount]string{
	"role", "content", "tool_calls", "tool_call_id", "name", "function_call", thoughtKey, "refusal", thoughtOther,
	"messageStatus", "status", "timestamp", signedThoughts[0], signedThoughts[1], signedThoughts[2],
}

// chatMessages reads the remaining messages of the array that s is in.
func (d *decoder) chatMessages(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.chatMessage(s)
		d.Cut(s)
	}
}

func (d *decoder) chatMessage(s *rawjson.Scanner) {
	var f [msgKeyCount]rawjson.Span
	whole := s.Object(msgKeys[:], f[:])
	if whole.IsZero() {
		d.Fail(s.Err())
		return
	}
	switch d.Word(f[msgRole]) {
	case "system", "developer":
		d.content(f[msgContent])
		d.End(llm.System)
	case "user":
		d.content(f[msgContent])
		d.End(llm.User)
	case "tool", "function":
		// Some agents add a member of their own that says how the call ended.
		failed := d.OneOf(f[msgMessageStatus], "error") || d.OneOf(f[msgStatus], "error")
		d.result(d.String(f[msgToolCallID]), f[msgContent], failed)
		d.End(llm.Tool)
	case "assistant":
		d.chatAnswer(f)
		d.End(llm.Assistant)
	case "":
		d.FailAt(whole, "a message without a role")
		return
	default: // the text of an unknown role stays as it is
		d.content(f[msgContent])
		d.End(llm.System)
	}
	if at := d.timestamp(f[msgTimestamp]); !at.IsZero() {
		d.At(at)
	}
}

// timestamp reads the time at which a message was written. Some agents add it as a member of their own: as a text, or as milliseconds or
// seconds since 1970. Any other value gives the zero time.
func (d *decoder) timestamp(at rawjson.Span) time.Time {
	if at.KindOf(d.Body) == '"' {
		t, err := time.Parse(time.RFC3339Nano, d.Word(at))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	const latest = 100_000_000_000 // in seconds; in milliseconds it is in 1973
	switch n, ok := rawjson.Int(d.Body, at); {
	case !ok || n <= 0:
		return time.Time{}
	case n < latest:
		return time.Unix(int64(n), 0)
	default:
		return time.UnixMilli(int64(n))
	}
}

// chatAnswer adds the parts of a message of the model: reasoning, text, calls.
func (d *decoder) chatAnswer(f [msgKeyCount]rawjson.Span) {
	if at := f[msgReasoning]; at.KindOf(d.Body) == '"' {
		d.Add(llm.Part{Kind: llm.Thinking, Text: d.String(at), Raw: d.Raw(at)})
	} else if at = f[msgReasoningOther]; at.KindOf(d.Body) == '"' {
		d.Add(llm.Part{Kind: llm.Thinking, Text: d.String(at), Raw: thoughtNamed(thoughtOther, d.Raw(at))})
	}
	for i, name := range signedThoughts {
		if value := f[msgSigned+i].Of(d.Body); bytes.ContainsAny(value, `{"`) { // otherwise it is null or an empty list
			d.Add(llm.Part{Kind: llm.Thinking, Raw: thoughtNamed(name, string(value))})
		}
	}
	d.content(f[msgContent])
	if at := f[msgRefusal]; at.KindOf(d.Body) == '"' {
		d.Add(llm.Part{Kind: llm.Opaque, Raw: `{"type":"refusal","refusal":` + d.Raw(at) + `}`})
	}
	if at := f[msgToolCalls]; !at.IsZero() {
		s := rawjson.At(d.Body, at)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			d.chatCall(&s)
		}
		d.Fail(s.Err())
	}
	if at := f[msgFunctionCall]; !at.IsZero() {
		p := llm.Part{Kind: llm.ToolCall}
		d.called(&p, at)
		d.Add(p)
	}
}

var callKeys = [4]string{"id", "type", "function", "custom"}

func (d *decoder) chatCall(s *rawjson.Scanner) {
	var f [4]rawjson.Span
	whole := s.Object(callKeys[:], f[:])
	if whole.IsZero() {
		return
	}
	p := llm.Part{Kind: llm.ToolCall, CallID: d.String(f[0])}
	switch {
	case !f[2].IsZero():
		d.called(&p, f[2])
	case !f[3].IsZero():
		d.called(&p, f[3])
	default:
		p = llm.Part{Kind: llm.Opaque, Raw: d.Raw(whole)}
	}
	d.Add(p)
}

var calledKeys = [3]string{"name", "arguments", "input"}

// called reads the name and the arguments of a call.
func (d *decoder) called(p *llm.Part, at rawjson.Span) {
	var f [3]rawjson.Span
	s := rawjson.At(d.Body, at)
	s.Object(calledKeys[:], f[:])
	d.Fail(s.Err())
	p.Name = d.String(f[0])
	args := f[1]
	if args.IsZero() {
		args = f[2]
	}
	d.args(p, args)
}

var chatToolKeys, functionKeys = [3]string{"type", "function", "custom"}, [3]string{"name", "description", "parameters"}

func (d *decoder) chatTools(req *llm.Request, at rawjson.Span) {
	if at.IsZero() {
		return
	}
	s := rawjson.At(d.Body, at)
	for s.Enter('['); s.Next() && d.Err() == nil; {
		var f [3]rawjson.Span
		if s.Object(chatToolKeys[:], f[:]).IsZero() {
			break
		}
		inner := f[1]
		if inner.IsZero() {
			inner = f[2]
		}
		if inner.IsZero() {
			req.AddTool(d.String(f[0]), "", nil)
			continue
		}
		t := rawjson.At(d.Body, inner)
		d.tool(req, &t, rawjson.Span{})
	}
	d.Fail(s.Err())
}

// tool adds the next function. If it has no name, kind is its name.
func (d *decoder) tool(req *llm.Request, s *rawjson.Scanner, kind rawjson.Span) {
	var f [3]rawjson.Span
	if s.Object(functionKeys[:], f[:]).IsZero() {
		d.Fail(s.Err())
		return
	}
	if f[0].IsZero() {
		f[0] = kind
	}
	req.AddTool(d.String(f[0]), d.String(f[1]), bytes.Clone(f[2].Of(d.Body)))
}
