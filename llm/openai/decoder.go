// Package openai implements Chat Completions and Responses: the formats of requests and responses, their usage and session keys.
package openai

import (
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// decoder reads one body.
type decoder struct{ llm.Decoder }

func newDecoder(body []byte) *decoder { return &decoder{llm.NewDecoder(body)} }

// textTypes are the types of content parts that hold text.
var textTypes = []string{"text", "input_text", "output_text"}

var contentKeys = [2]string{"type", "text"}

// content adds the parts of a message's content: a string, a list of parts, or nothing.
func (d *decoder) content(at rawjson.Span) {
	switch at.KindOf(d.Body) {
	case 0:
	case '"':
		d.AddText(at)
	case '[':
		s := rawjson.At(d.Body, at)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			var f [2]rawjson.Span
			whole := s.Object(contentKeys[:], f[:])
			if whole.IsZero() {
				break
			}
			if d.OneOf(f[0], textTypes...) && !f[1].IsZero() {
				d.AddText(f[1])
			} else {
				d.Add(llm.Part{Kind: llm.Opaque, Raw: d.Raw(whole)})
			}
		}
		d.Fail(s.Err())
	default:
		d.FailAt(at, "content is neither text nor parts")
	}
}

// result adds a part for the output of a tool. It can be edited if it is one string or a list of one text part. A list of several text
// parts can be edited if all but the last are short: Codex writes how a program ended before its output. The texts of lists are joined.
func (d *decoder) result(callID string, at rawjson.Span, failed bool) {
	p := llm.Part{Kind: llm.ToolResult, CallID: callID, IsError: failed}
	switch at.KindOf(d.Body) {
	case 0, '"', '[':
		text, head, span := d.Headed(at, textTypes...)
		p.Text, p.Head, p.Span = text, head, llm.Span(span)
	case '{': // an output of another format
		p.Text = d.Raw(at)
	default:
		d.FailAt(at, "output is neither text nor parts")
	}
	d.Add(p)
}

// retention returns how long the request asks the provider to cache its prompt. "prompt_cache_options" takes precedence over
// "prompt_cache_retention".
func (d *decoder) retention(at, options rawjson.Span) time.Duration {
	if d.OneOf(rawjson.Member(d.Body, options, "ttl"), "12h") { // "30m" is the default, and the provider may cache longer
		return 12 * time.Hour
	}
	if d.OneOf(at, "24h") {
		return 24 * time.Hour
	}
	return 0
}

// args reads the arguments of a call: a text, mostly JSON. Some agents send the object itself.
func (d *decoder) args(p *llm.Part, at rawjson.Span) {
	if at.KindOf(d.Body) == '{' {
		p.Args, p.Span = d.Raw(at), llm.Span(at)
		return
	}
	text, span := d.Text(at)
	p.Args, p.Span = text, llm.Span(span)
}
