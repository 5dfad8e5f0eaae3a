// Package openai implements Chat Completions and Responses: the formats of requests and responses, their usage and session keys.
package openai

import (
	"time"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// decoder reads one body.
type decoder struct {
	rawjson.Decoder
	llm.Builder
	layout
	before layout // layout of the earlier request
}

func newDecoder(body []byte) *decoder { return &decoder{Decoder: rawjson.NewDecoder(body)} }

// addText adds a part for the string at span.
func (d *decoder) addText(at rawjson.Span) {
	text, place := d.Text(at)
	d.Add(llm.Part{Text: text, Span: llm.Span(place)})
}

// textTypes are the types of content parts that hold text.
var textTypes = []string{"text", "input_text", "output_text"}

var contentKeys = [2]string{"type", "text"}

// content adds the parts of a message's content: a string, a list of parts, or nothing.
func (d *decoder) content(at rawjson.Span) {
	switch at.KindOf(d.Body) {
	case 0:
	case '"':
		d.addText(at)
	case '[':
		s := rawjson.At(d.Body, at)
		for s.Enter('['); s.Next() && d.Err() == nil; {
			var f [2]rawjson.Span
			whole := s.Object(contentKeys[:], f[:])
			if whole.IsZero() {
				break
			}
			if d.OneOf(f[0], textTypes...) && !f[1].IsZero() {
				d.addText(f[1])
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
		text, head, place := d.Headed(at, textTypes...)
		p.Text, p.Head, p.Span = text, head, llm.Span(place)
	case '{': // an output of another format
		p.Text = d.Raw(at)
	default:
		d.FailAt(at, "output is neither text nor parts")
	}
	d.Add(p)
}

var cacheOptionKeys = [1]string{"ttl"}

// retention returns how long the request asks the provider to cache its prompt. "prompt_cache_options" takes precedence over
// "prompt_cache_retention".
func (d *decoder) retention(at, options rawjson.Span) time.Duration {
	if options.KindOf(d.Body) == '{' {
		var f [1]rawjson.Span
		s := rawjson.At(d.Body, options)
		s.Object(cacheOptionKeys[:], f[:])
		if d.OneOf(f[0], "12h") { // "30m" is the default, and the provider may cache longer
			return 12 * time.Hour
		}
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
	text, place := d.Text(at)
	p.Args, p.Span = text, llm.Span(place)
}

// patch makes the edits in body.
func patch(dst, body []byte, req *llm.Request, edits []llm.Edit) ([]byte, error) {
	placed, err := req.Place(edits)
	if err != nil {
		return dst, err
	}
	patches := make([]rawjson.Patch, len(placed))
	for i, p := range placed {
		patches[i] = rawjson.Patch{Span: rawjson.Span(p.Span), Text: p.Text}
	}
	return rawjson.AppendPatched(dst, body, patches)
}
