package gemini

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Keys of parts, and their indexes in fields.
const (
	keyText = iota
	keyThought
	keySignature
	keySignatureOther
	keyCall
	keyCallOther
	keyResponse
	keyResponseOther
	keyCount
)

var partKeys = [keyCount]string{
	"text", "thought", "thoughtSignature", "thought_signature", "functionCall", "function_call",
	"functionResponse", "function_response",
}

type fields = [keyCount]rawjson.Span

// parts adds the parts of a content with the given role.
func (d *decoder) parts(at rawjson.Span, role llm.Role) {
	if at.IsZero() {
		return
	}
	s := rawjson.At(d.Body, at)
	for s.Enter('['); s.Next() && d.Err() == nil; {
		d.part(&s, role)
	}
	d.Fail(s.Err())
}

// part adds the next part. A part that only the model may send is opaque in other contents. So is a part that only the user may
// send.
func (d *decoder) part(s *rawjson.Scanner, role llm.Role) {
	var f fields
	whole := s.Object(partKeys[:], f[:])
	if whole.IsZero() {
		d.Fail(s.Err())
		return
	}
	call, response := either(f[keyCall], f[keyCallOther]), either(f[keyResponse], f[keyResponseOther])
	switch {
	case role == llm.Assistant && rawjson.True(d.Body, f[keyThought]):
		d.Add(llm.Part{Kind: llm.Thinking, Text: d.String(f[keyText]), Raw: d.Raw(whole)})
	case role == llm.Assistant && !call.IsZero():
		d.call(call, !either(f[keySignature], f[keySignatureOther]).IsZero())
	case role == llm.User && !response.IsZero():
		d.response(response)
	case !f[keyText].IsZero() && call.IsZero() && response.IsZero():
		d.AddText(f[keyText])
	default:
		d.Add(llm.Part{Kind: llm.Opaque, Raw: d.Raw(whole)})
	}
}

var callKeys = [3]string{"id", "name", "args"}

// call adds a function call.
func (d *decoder) call(at rawjson.Span, signed bool) {
	var f [3]rawjson.Span
	s := rawjson.At(d.Body, at)
	s.Object(callKeys[:], f[:])
	d.Fail(s.Err())
	p := llm.Part{Kind: llm.ToolCall, CallID: d.String(f[0]), Name: d.String(f[1]), Args: "{}"}
	if p.CallID == "" {
		p.CallID = callName(d.calls)
	}
	d.calls++
	if !f[2].IsZero() {
		p.Args = d.Raw(f[2])
	}
	if f[2].KindOf(d.Body) == '{' && !signed {
		p.Span = llm.Span(f[2])
	}
	d.Add(p)
}

var responseKeys = [3]string{"id", "name", "response"}

// response adds a function response. It answers the open call with the same id. If there is none, the id may be the agent's own.
// Then the response answers the first open call with the same name, or else the first open call.
func (d *decoder) response(at rawjson.Span) {
	var f [3]rawjson.Span
	s := rawjson.At(d.Body, at)
	s.Object(responseKeys[:], f[:])
	d.Fail(s.Err())
	id, name := d.String(f[0]), d.String(f[1])
	p := llm.Part{Kind: llm.ToolResult, CallID: id}
	for _, meant := range [...]func(llm.Part) bool{
		func(c llm.Part) bool { return id != "" && c.CallID == id },
		func(c llm.Part) bool { return c.Name == name },
		func(llm.Part) bool { return true },
	} {
		if of, ok := d.close(meant); ok {
			p.CallID = of
			break
		}
	}
	d.output(&p, f[2])
	d.Add(p)
}

var outputKeys = [2]string{"output", "error"}

// output reads the value that a function returned. It is an object. The member "output" is the result, and the member "error"
// says that the call failed. If an object has only one member and that is a text, the text is the result. If the text is a
// string, it can be edited. For any other object, its JSON is the text.
func (d *decoder) output(p *llm.Part, at rawjson.Span) {
	if at.IsZero() {
		return
	}
	if at.KindOf(d.Body) != '{' {
		d.FailAt(at, "function response is no object")
		return
	}
	var f [2]rawjson.Span
	s := rawjson.At(d.Body, at)
	s.Object(outputKeys[:], f[:])
	p.IsError = !f[1].IsZero()
	said := f[0]
	if said.IsZero() {
		said = f[1]
	}
	if said.IsZero() {
		said = d.only(at)
	}
	if s.Err() != nil || said.KindOf(d.Body) != '"' {
		p.Text = d.Raw(at) // also if its keys are written with escapes
		return
	}
	text, span := d.Text(said)
	p.Text, p.Span = text, llm.Span(span)
}

// only returns the span of an object's value if the object has one member. Otherwise it returns the zero Span.
func (d *decoder) only(at rawjson.Span) rawjson.Span {
	var value rawjson.Span
	n := 0
	s := rawjson.At(d.Body, at)
	for s.Enter('{'); s.Next(); n++ {
		value = s.Skip()
	}
	if n != 1 {
		return rawjson.Span{}
	}
	return value
}
