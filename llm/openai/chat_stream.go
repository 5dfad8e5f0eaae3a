package openai

import (
	"errors"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// chatReader reads the chunks of a streamed completion. Its meter reads the model, usage and stop reason.
type chatReader struct {
	emit  func(llm.Event)
	meter meter
	id    string
	parts []chatPart // in the order of their first chunks
	calls []int      // indexes of the calls in parts
	other bool       // reasoning has its second name
	done  bool
}

// chatPart is a part that is not complete yet.
type chatPart struct {
	llm.Part
	words []byte // of a text, thinking, a refusal, or arguments of a call
	index int    // number of a call in the stream; -1: it has none
}

var chatChunkKeys = [4]string{"id", "choices", "error", "usage"}
var chatChoiceKeys = [3]string{"index", "delta", "finish_reason"}

// Done implements llm.Reader.
func (r *chatReader) Done() bool { return r.done }

// End implements llm.Reader. Some endpoints do not send [DONE].
func (r *chatReader) End() bool {
	if !r.done && r.meter.Read.StopReason != "" {
		r.end()
	}
	return r.done
}

// Event implements llm.Reader.
func (r *chatReader) Event(name, data []byte) error {
	if string(data) == "[DONE]" {
		r.end()
		return nil
	}
	var f [4]rawjson.Span
	s := rawjson.New(data)
	s.Object(chatChunkKeys[:], f[:])
	if err := s.End(); err != nil {
		return llm.Malformed(name, err)
	}
	if !f[2].IsZero() || string(name) == "error" {
		if failure := llm.FailureIn(data); failure != nil {
			return failure
		}
		return llm.Malformed(name, errors.New("an error that says nothing"))
	}
	rawjson.Said(data, f[0], &r.id)
	before := r.meter.Read.Usage
	r.meter.chat(nil, data)
	if err := r.choices(data, f[1]); err != nil {
		return llm.Malformed(name, err)
	}
	if u := r.meter.Read.Usage; u != before && r.meter.Read.Counted {
		r.emit(llm.Event{Kind: llm.UsageSaid, Usage: u})
	}
	return nil
}

// choices reads the delta of the first choice. The request asks for one choice only.
func (r *chatReader) choices(data []byte, at rawjson.Span) error {
	if at.IsZero() {
		return nil
	}
	s := rawjson.At(data, at)
	for s.Enter('['); s.Next(); {
		var f [3]rawjson.Span
		if s.Object(chatChoiceKeys[:], f[:]).IsZero() {
			break
		}
		if n, _ := rawjson.Int(data, f[0]); n != 0 || f[1].IsZero() {
			continue
		}
		if err := r.delta(data, f[1]); err != nil {
			return err
		}
	}
	return s.Err()
}

var chatDeltaKeys = [6]string{"content", thoughtKey, thoughtOther, "refusal", "tool_calls", "function_call"}

func (r *chatReader) delta(data []byte, at rawjson.Span) error {
	var f [6]rawjson.Span
	s := rawjson.At(data, at)
	if s.Object(chatDeltaKeys[:], f[:]); s.Err() != nil {
		return s.Err()
	}
	thought := f[1]
	if thought.KindOf(data) != '"' && f[2].KindOf(data) == '"' {
		thought, r.other = f[2], true
	}
	for _, d := range [...]struct {
		kind llm.Kind
		at   rawjson.Span
	}{{llm.Thinking, thought}, {llm.Text, f[0]}, {llm.Opaque, f[3]}} {
		if d.at.KindOf(data) != '"' {
			continue
		}
		text, err := rawjson.Unquote(d.at.Of(data))
		if err != nil {
			return err
		}
		if text != "" {
			r.say(d.kind, text)
		}
	}
	if !f[5].IsZero() {
		return r.called(data, -1, "", f[5])
	}
	if f[4].KindOf(data) != '[' {
		return nil
	}
	s = rawjson.At(data, f[4])
	for s.Enter('['); s.Next(); {
		if err := r.call(data, &s); err != nil {
			return err
		}
	}
	return s.Err()
}

// say appends text to the part of this kind.
func (r *chatReader) say(kind llm.Kind, text string) {
	i := 0
	for i < len(r.parts) && r.parts[i].Kind != kind {
		i++
	}
	if i == len(r.parts) {
		r.parts = append(r.parts, chatPart{Part: llm.Part{Kind: kind}})
	}
	r.parts[i].words = append(r.parts[i].words, text...)
	switch kind {
	case llm.Text:
		r.emit(llm.Event{Kind: llm.TextDelta, Index: i, Text: text})
	case llm.Thinking:
		r.emit(llm.Event{Kind: llm.ThinkingDelta, Index: i, Text: text})
	}
}

var chatCallKeys = [4]string{"index", "id", "function", "custom"}

func (r *chatReader) call(data []byte, s *rawjson.Scanner) error {
	var f [4]rawjson.Span
	if s.Object(chatCallKeys[:], f[:]).IsZero() {
		return s.Err()
	}
	index, ok := rawjson.Int(data, f[0])
	if !ok {
		index = -1
	}
	id := ""
	rawjson.Said(data, f[1], &id)
	inner := f[2]
	if inner.IsZero() {
		inner = f[3]
	}
	return r.called(data, index, id, inner)
}

// called appends a delta to a call.
func (r *chatReader) called(data []byte, index int, id string, at rawjson.Span) error {
	var f [3]rawjson.Span
	if !at.IsZero() {
		s := rawjson.At(data, at)
		if s.Object(calledKeys[:], f[:]); s.Err() != nil {
			return s.Err()
		}
	}
	name, args := "", ""
	rawjson.Said(data, f[0], &name)
	at = f[1]
	if at.IsZero() {
		at = f[2]
	}
	switch at.KindOf(data) {
	case '{': // some endpoints send the object itself
		args = string(at.Of(data))
	case '"':
		var err error
		if args, err = rawjson.Unquote(at.Of(data)); err != nil {
			return err
		}
	}
	i := r.find(index, id, name)
	p := &r.parts[i]
	if p.CallID == "" {
		p.CallID = id
	}
	if p.Name == "" {
		p.Name = name
	}
	p.words = append(p.words, args...)
	r.emit(llm.Event{Kind: llm.CallDelta, Index: i, Text: args, Call: llm.Part{Kind: llm.ToolCall, CallID: p.CallID, Name: p.Name}})
	return nil
}

// find returns the index of the call that a delta belongs to. Some endpoints do not number their calls, or give all the same number.
// Then another id, or a name without an id, begins another call.
func (r *chatReader) find(index int, id, name string) int {
	for n := len(r.calls) - 1; n >= 0; n-- {
		p := &r.parts[r.calls[n]]
		if index >= 0 && p.index >= 0 && index != p.index {
			continue
		}
		if id != "" && p.CallID != "" && id != p.CallID {
			continue
		}
		if index < 0 && id == "" && name != "" && p.Name != "" {
			break
		}
		return r.calls[n]
	}
	r.calls = append(r.calls, len(r.parts))
	r.parts = append(r.parts, chatPart{Part: llm.Part{Kind: llm.ToolCall}, index: index})
	return len(r.parts) - 1
}

func (r *chatReader) end() {
	r.done = true
	res := r.Response()
	for _, i := range r.calls {
		r.emit(llm.Event{Kind: llm.CallDone, Index: i, Call: res.Message.Parts[i]})
	}
	r.emit(llm.Event{Kind: llm.Stopped, Reason: res.StopReason})
}

// Response implements llm.Reader.
func (r *chatReader) Response() *llm.Response {
	m := r.meter.Read
	res := &llm.Response{ID: r.id, Model: m.Model, Usage: m.Usage, StopReason: m.StopReason}
	res.Message.Role = llm.Assistant
	for i, p := range r.parts {
		words := string(p.words)
		switch p.Kind {
		case llm.Text:
			p.Text = words
		case llm.ToolCall:
			p.Args = words
			p.Part = llm.Sendable(p.Part, r.id, i, res.Message.Parts)
		case llm.Thinking:
			if p.Text, p.Raw = words, quoted(words); r.other {
				p.Raw = thoughtNamed(thoughtOther, p.Raw)
			}
		case llm.Opaque:
			p.Raw = `{"type":"refusal","refusal":` + quoted(words) + `}`
		}
		if r.done || p.Kind == llm.Text {
			res.Message.Parts = append(res.Message.Parts, p.Part)
		}
	}
	return res
}

func quoted(text string) string {
	var w rawjson.Writer
	w.String(text)
	b, _ := w.Bytes() // a string is always valid
	return string(b)
}
