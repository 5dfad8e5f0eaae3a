package rawjson

import (
	"fmt"
	"strings"
)

// Decoder decodes values at spans of one body, which a Scanner found. The zero Span means no value and decodes to "". After the
// first error the decoded values are invalid.
type Decoder struct {
	Body  []byte
	begin int // start of the value that Walk walks
	texts texts
	err   error
}

// NewDecoder returns a Decoder of body.
func NewDecoder(body []byte) Decoder {
	return Decoder{Body: body, begin: New(body).pos, texts: newTexts(len(body))}
}

// NewDecoderAt returns a Decoder of the value at span in body. Its spans are spans of body.
func NewDecoderAt(body []byte, at Span) Decoder {
	return Decoder{Body: body[:at.End], begin: at.Start, texts: newTexts(at.size())}
}

// Few says that few strings will be decoded and kept for long. Then they share little memory.
func (d *Decoder) Few() { d.texts = newTexts(fewBytes) }

const fewBytes = 4 << 10

// Err is the first error.
func (d *Decoder) Err() error { return d.err }

// Fail sets the error, unless err is nil or there is an error already.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// FailAt is Fail with what is wrong with the value at span.
func (d *Decoder) FailAt(at Span, what string) {
	if d.err == nil {
		d.err = fmt.Errorf("byte %d: %s", at.Start, what)
	}
}

// Word is the string at span as it is written, as [Word] has it: to compare with.
func (d *Decoder) Word(at Span) string { return string(Word(d.Body, at)) }

// OneOf reports whether the value at span is one of words, written without escapes.
func (d *Decoder) OneOf(at Span, words ...string) bool {
	for _, word := range words {
		if Is(d.Body, at, word) {
			return true
		}
	}
	return false
}

// Raw returns a copy of the raw value at span.
func (d *Decoder) Raw(at Span) string { return d.texts.Copy(at.Of(d.Body)) }

// String decodes the string at span.
func (d *Decoder) String(at Span) string {
	text, _ := d.Text(at)
	return text
}

// Text decodes the string at span. It also returns the span, if text is exactly the string in the body; the zero Span if decoding
// lost something.
func (d *Decoder) Text(at Span) (text string, place Span) {
	if at.IsZero() {
		return "", Span{}
	}
	if at.KindOf(d.Body) != '"' {
		d.FailAt(at, "not a string")
		return "", Span{}
	}
	text, exact, err := d.texts.String(d.Body, at)
	if err != nil {
		d.FailAt(at, err.Error())
	}
	if !exact {
		at = Span{}
	}
	return text, at
}

// Own decodes a string that does not share memory with the others.
func (d *Decoder) Own(at Span) string {
	if at.IsZero() {
		return ""
	}
	text, err := Unquote(at.Of(d.Body))
	if err != nil {
		d.FailAt(at, err.Error())
	}
	return text
}

var textKeys = [2]string{"type", "text"}

// Joined decodes a text that is a string, or a list of objects. In a list, the "text" members of the objects whose "type" is in
// types are joined by line breaks. If there is only one string, place is its span.
func (d *Decoder) Joined(at Span, types ...string) (text string, place Span) {
	if at.KindOf(d.Body) != '[' {
		return d.Text(at)
	}
	found := make([]string, 0, 4) // on the stack
	members := 0
	s := At(d.Body, at)
	for s.Enter('['); s.Next() && d.err == nil; members++ {
		var f [2]Span
		if s.Object(textKeys[:], f[:]).IsZero() {
			break
		}
		if f[1].IsZero() || !d.OneOf(f[0], types...) {
			continue
		}
		text, place = d.Text(f[1])
		found = append(found, text)
	}
	d.Fail(s.Err())
	if members != 1 {
		place = Span{}
	}
	return strings.Join(found, "\n"), place
}

// maxHead is the limit in bytes of the texts before the last one in a list, if only the last one should count as the text.
const maxHead = 200

// Headed is Joined for a list in which the last text counts and short texts precede it. head is those texts with a line break after
// them, and place is the span of the last text.
func (d *Decoder) Headed(at Span, types ...string) (text, head string, place Span) {
	text, place = d.Joined(at, types...)
	if d.err != nil || !place.IsZero() || at.KindOf(d.Body) != '[' {
		return text, "", place
	}
	last := ""
	s := At(d.Body, at)
	for s.Enter('['); s.Next(); {
		var f [2]Span
		if s.Object(textKeys[:], f[:]).IsZero() || f[1].IsZero() || !d.OneOf(f[0], types...) {
			return text, "", Span{}
		}
		last, place = d.Text(f[1])
	}
	if head = strings.TrimSuffix(text, last); place.IsZero() || len(head) > maxHead {
		return text, "", Span{}
	}
	return text, head, place
}
