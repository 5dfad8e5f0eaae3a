package anthropic

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Keys of content blocks, and their indexes in fields.
const (
	keyType = iota
	keyText
	keyID
	keyName
	keyInput
	keyToolUseID
	keyContent
	keyIsError
	keyThinking
	keyCacheControl
	keyCaller
	keyCount
)

var partKeys = [keyCount]string{
	"type", "text", "id", "name", "input", "tool_use_id", "content", "is_error", "thinking",
	"cache_control", "caller",
}

type fields = [keyCount]rawjson.Span

// part adds the next content block. In the system text, everything but text is opaque.
func (d *decoder) part(s *rawjson.Scanner, role llm.Role) {
	var f fields
	whole := s.Object(partKeys[:], f[:])
	if whole.IsZero() {
		d.Fail(s.Err())
		return
	}
	if !d.before.IsZero() { // a block of thinking may be removed if another one follows
		d.Parts[len(d.Parts)-1].Span = llm.Span{Start: d.before.Start, End: whole.Start}
		d.before = rawjson.Span{}
	}
	var p llm.Part
	switch string(rawjson.Word(d.Body, f[keyType])) {
	case "text":
		if f[keyText].IsZero() {
			d.FailAt(whole, "text block without text")
		}
		text, span := d.Text(f[keyText])
		p.Text, p.Span = text, llm.Span(span)
	case "tool_use":
		p.Kind = llm.ToolCall
		p.CallID = d.String(f[keyID])
		p.Name = d.String(f[keyName])
		p.Args = d.Raw(f[keyInput])
		p.ByCode = d.ByCode(f[keyCaller])
		if f[keyInput].KindOf(d.Body) == '{' {
			p.Span = llm.Span(f[keyInput])
		}
	case "tool_result":
		p.Kind = llm.ToolResult
		p.CallID = d.String(f[keyToolUseID])
		p.IsError = rawjson.True(d.Body, f[keyIsError])
		d.result(&p, f[keyContent])
	case "thinking", "redacted_thinking":
		p.Kind = llm.Thinking
		p.Text = d.String(f[keyThinking])
		p.Raw = d.Raw(whole)
		d.before = whole
	default:
		p.Kind = llm.Opaque
	}
	if role == llm.System && p.Kind != llm.Text {
		p, d.before = llm.Part{Kind: llm.Opaque}, rawjson.Span{}
	}
	if p.Kind == llm.Opaque {
		p.Raw = d.Raw(whole)
	}
	d.breakpoint(f[keyCacheControl], d.Decoded())
	d.Add(p)
	if role != llm.System && rawjson.Is(d.Body, f[keyType], "compaction") {
		d.Summary()
	}
}

// result reads the content of a tool result. It can be edited if it is one string, or a list of one text block. The texts of other
// lists are joined.
func (d *decoder) result(p *llm.Part, at rawjson.Span) {
	switch at.KindOf(d.Body) {
	case 0, '"', '[':
		text, span := d.Joined(at, "text")
		p.Text, p.Span = text, llm.Span(span)
	default:
		d.FailAt(at, "tool result is neither text nor blocks")
	}
}
