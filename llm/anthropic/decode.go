package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Decode implements llm.Codec.
//
// The strings of the messages share blocks of memory of up to 64 KB, except Model and SessionKey. Clone a string that
// must outlive the request.
func (c Messages) Decode(body []byte) (*llm.Request, error) { return c.DecodeAfter(body, nil, nil) }

// DecodeAfter implements llm.Codec.
func (Messages) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.request(earlier, earlierBody)
	if err != nil {
		return nil, fmt.Errorf("messages request: %w", err)
	}
	return req, nil
}

// decoder reads one body.
type decoder struct {
	rawjson.Decoder
	llm.Builder
	layout
	before layout // layout of the earlier request
	shared int    // number of parts in Builder.Before
}

func newDecoder(body []byte) *decoder { return &decoder{Decoder: rawjson.NewDecoder(body)} }

const (
	reqMessages = iota
	reqModel
	reqSystem
	reqTools
	reqMaxTokens
	reqStream
	reqMetadata
	reqCacheControl
	reqContextManagement
	reqThread
	reqKeyCount
)

var reqKeys = [reqKeyCount]string{"messages", "model", "system", "tools", "max_tokens", "stream", "metadata", "cache_control", "context_management", "thread"}

func (d *decoder) request(earlier *llm.Request, earlierBody []byte) (*llm.Request, error) {
	var f [reqKeyCount]rawjson.Span
	if found := d.Walk(&d.walk, d.resume(earlier, earlierBody), reqKeys[reqMessages], reqKeys[:], f[:], d.messages); d.Err() != nil {
		return nil, d.Err()
	} else if !found || !f[reqMessages].IsZero() {
		return nil, errors.New("no messages, or two")
	}
	d.said = d.shared + len(d.Parts)
	if d.systemAt = f[reqSystem]; !d.reuseSystem(earlier, earlierBody) {
		d.system(f[reqSystem])
	}
	req := &llm.Request{
		Model:      d.Own(f[reqModel]),
		Stream:     rawjson.True(d.Body, f[reqStream]),
		SessionKey: d.sessionKey(f[reqMetadata]),
	}
	req.MaxTokens, _ = rawjson.Int(d.Body, f[reqMaxTokens])
	if d.toolsAt = f[reqTools]; d.reuseTools(earlierBody) {
		req.Tools = earlier.Tools
	} else {
		d.tools(req, f[reqTools])
	}
	d.caching(req, f[reqCacheControl], f[reqContextManagement])
	req.Thread, req.Previous = d.thread(f[reqThread])
	req.Chained = req.Thread == llm.ThreadContinue
	req.Messages = d.Messages()
	layout := d.layout // a copy, so that the request does not keep the decoder and the body
	req.Layout = &layout
	return req, d.Err()
}

// system reads the system text, which is a string or a list of blocks.
func (d *decoder) system(at rawjson.Span) {
	switch at.KindOf(d.Body) {
	case 0:
		return
	case '"':
		d.addText(at)
	case '[':
		s := rawjson.At(d.Body, at)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			d.part(&s, llm.System)
		}
		d.Fail(s.Err())
	default:
		d.FailAt(at, "system is neither text nor blocks")
	}
	d.EndFirst(llm.System)
}

// message reads one message of the wire format. It becomes one message, or several if tool results stand among other parts.
func (d *decoder) message(s *rawjson.Scanner) {
	var role, content rawjson.Span
	from := len(d.Parts)
	listed := false
	for s.Enter('{'); s.Next() && d.Err() == nil; {
		switch string(s.Key()) {
		case "role":
			s.Take(&role)
		case "content":
			if s.Kind() != '[' {
				s.Take(&content)
				continue
			}
			if listed || !content.IsZero() {
				d.Fail(errors.New("message content stands twice"))
			}
			listed = true
			for s.Enter('['); s.Next() && d.Err() == nil; {
				d.part(s, "")
			}
		default:
			s.Skip()
		}
	}
	if d.Fail(s.Err()); d.Err() != nil {
		return
	}
	if listed && !content.IsZero() {
		d.FailAt(content, "message content stands twice")
		return
	}
	if !listed {
		d.addText(content)
	}
	switch string(rawjson.Word(d.Body, role)) {
	case "user":
		d.split(from)
	case "assistant":
		d.End(llm.Assistant)
	case "":
		d.FailAt(role, "a message without a role")
	default: // "system" and unknown roles: their text stays as it is
		d.End(llm.System)
	}
}

// split ends the messages made from a user message whose first part is at index from.
func (d *decoder) split(from int) {
	roleOf := func(p *llm.Part) llm.Role {
		if p.Kind == llm.ToolResult {
			return llm.Tool
		}
		return llm.User
	}
	for i := from; i < len(d.Parts); i++ {
		if i+1 == len(d.Parts) || roleOf(&d.Parts[i]) != roleOf(&d.Parts[i+1]) {
			d.EndAt(roleOf(&d.Parts[i]), i+1)
		}
	}
	if from == len(d.Parts) {
		d.EndAt(llm.User, from)
	}
}

// tools reads the offered tools. Tools that run at the provider have no schema.
func (d *decoder) tools(req *llm.Request, at rawjson.Span) {
	if at.IsZero() {
		return
	}
	s := rawjson.At(d.Body, at)
	for s.Enter('['); s.Next() && d.Err() == nil; {
		var f [6]rawjson.Span
		if s.Object(toolKeys[:], f[:]).IsZero() {
			break
		}
		d.breakpoint(f[4], onTool)
		name, typ, description, schema := f[0], f[1], f[2], f[3]
		if name.IsZero() {
			name = typ
		}
		req.AddTool(d.String(name), d.String(description), bytes.Clone(schema.Of(d.Body)))
		req.Tools[len(req.Tools)-1].Deferred = rawjson.True(d.Body, f[5])
	}
	d.Fail(s.Err())
}

var toolKeys = [6]string{"name", "type", "description", "input_schema", "cache_control", "defer_loading"}
