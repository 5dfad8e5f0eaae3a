package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Decode implements llm.Codec.
func (c Messages) Decode(body []byte) (*llm.Request, error) { return c.DecodeAfter(body, nil, nil, 0) }

// DecodeAfter implements llm.Codec.
func (Messages) DecodeAfter(body []byte, earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	d := newDecoder(body)
	req, err := d.request(earlier, earlierBody, same)
	if err != nil {
		return nil, fmt.Errorf("messages request: %w", err)
	}
	return req, nil
}

// decoder reads one body.
type decoder struct {
	llm.Decoder
	before rawjson.Span // the block before in the same list, if it is thinking; else zero
}

func newDecoder(body []byte) *decoder { return &decoder{Decoder: llm.NewDecoder(body)} }

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

func (d *decoder) request(earlier *llm.Request, earlierBody []byte, same int) (*llm.Request, error) {
	var f [reqKeyCount]rawjson.Span
	if found := d.Walk(&d.Walked, d.Resume(earlier, earlierBody, same), reqKeys[reqMessages], reqKeys[:], f[:], d.messages); d.Err() != nil {
		return nil, d.Err()
	} else if !found || !f[reqMessages].IsZero() {
		return nil, errors.New("no messages, or two")
	}
	d.Said = d.Decoded()
	if d.System = f[reqSystem]; !d.reuseSystem(earlier, earlierBody) {
		d.system(f[reqSystem])
	}
	req := &llm.Request{
		Model:      d.Own(f[reqModel]),
		Stream:     rawjson.True(d.Body, f[reqStream]),
		SessionKey: d.sessionKey(f[reqMetadata]),
	}
	req.MaxTokens, _ = rawjson.Int(d.Body, f[reqMaxTokens])
	if d.Tools = f[reqTools]; d.SameTools(req, earlier, earlierBody) {
		d.reuseMarkers(d.Tools.Start-d.Earlier.Tools.Start, 0, func(m llm.Marker) bool { return m.Part == onTool })
	} else {
		d.tools(req, f[reqTools])
	}
	d.caching(req, f[reqCacheControl], f[reqContextManagement])
	thread := f[reqThread]
	req.Thread, req.Previous = d.Own(rawjson.Member(d.Body, thread, "type")), d.Own(rawjson.Member(d.Body, thread, "previous_message_id"))
	req.Chained = req.Thread == llm.ThreadContinue
	return d.Finish(req)
}

// messages reads the remaining messages of the array that s is in.
func (d *decoder) messages(s *rawjson.Scanner) {
	for s.Next() && d.Err() == nil {
		d.message(s)
		d.Cut(s)
	}
}

// reuseMarkers copies the markers of the earlier request for which pick returns true.
func (d *decoder) reuseMarkers(move, part int, pick func(m llm.Marker) bool) {
	for _, m := range d.Earlier.Markers {
		if pick(m) {
			m.At.Start, m.At.End = m.At.Start+move, m.At.End+move
			if m.Part >= 0 {
				m.Part += part
			}
			d.Markers = append(d.Markers, m)
		}
	}
}

// reuseSystem reuses the earlier system text if it has the same bytes. The spans of its parts are moved.
func (d *decoder) reuseSystem(earlier *llm.Request, earlierBody []byte) bool {
	move, ok := d.Same(d.Earlier.System, d.System, earlierBody)
	if !ok {
		return false
	}
	for _, p := range earlier.Messages[0].Parts {
		if p.Span.Valid() {
			p.Span.Start, p.Span.End = p.Span.Start+move, p.Span.End+move
		}
		d.Add(p)
	}
	d.systemEnds()
	d.reuseMarkers(move, d.Said-d.Earlier.Said, func(m llm.Marker) bool { return m.Part >= d.Earlier.Said })
	return true
}

func (d *decoder) systemEnds() {
	d.EndFirst(llm.System)
	d.First = 1
}

// system reads the system text, which is a string or a list of blocks.
func (d *decoder) system(at rawjson.Span) {
	switch at.KindOf(d.Body) {
	case 0:
		return
	case '"':
		d.AddText(at)
	case '[':
		s := rawjson.At(d.Body, at)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			d.part(&s, llm.System)
		}
		d.Fail(s.Err())
	default:
		d.FailAt(at, "system is neither text nor blocks")
	}
	d.systemEnds()
}

// message reads one message of the wire format. It becomes one message, or several if tool results are among other parts.
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
				d.Fail(errors.New("message content is there twice"))
			}
			listed, d.before = true, rawjson.Span{}
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
		d.FailAt(content, "message content is there twice")
		return
	}
	if !listed && content.IsZero() {
		d.FailAt(content, "no content")
	}
	if !listed {
		d.AddText(content)
	}
	switch string(rawjson.Word(d.Body, role)) {
	case "user":
		d.EndResults(from)
	case "assistant":
		d.End(llm.Assistant)
	case "":
		d.FailAt(role, "a message without a role")
	default: // "system" and unknown roles: their text stays as it is
		d.End(llm.System)
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
