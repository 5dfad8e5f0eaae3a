package anthropic

import (
	"errors"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// reader reads a streamed answer. Its meter reads the model, usage and stop reason.
type reader struct {
	emit   func(llm.Event)
	strict bool // the blocks are sent back as they came: what cannot be kept byte for byte is an error
	meter  meter
	id     string
	begun  bool
	parts  []llm.Part // complete parts
	raw    [][]byte   // their blocks, if strict
	open   *block
	done   bool
}

var eventKeys = [7]string{"type", "message", "index", "content_block", "delta", "error", "usage"}

// Done implements llm.Reader.
func (r *reader) Done() bool { return r.done }

// End implements llm.Reader. Some endpoints do not send message_stop.
func (r *reader) End() bool {
	if !r.done && r.open == nil && r.meter.Read.StopReason != "" {
		r.end()
	}
	return r.done
}

func (r *reader) end() {
	r.done = true
	r.emit(llm.Event{Kind: llm.Stopped, Reason: r.meter.Read.StopReason})
}

// Response implements llm.Reader.
func (r *reader) Response() *llm.Response {
	parts := r.parts
	if b := r.open; b != nil && b.part.Kind == llm.Text && b.said().Text != "" {
		parts = append(parts[:len(parts):len(parts)], b.said())
	}
	m := r.meter.Read
	return &llm.Response{
		ID: r.id, Model: m.Model, Usage: m.Usage, StopReason: m.StopReason,
		Message: llm.Message{Role: llm.Assistant, Parts: parts},
	}
}

// Event implements llm.Reader.
func (r *reader) Event(name, data []byte) error {
	var f [7]rawjson.Span
	s := rawjson.New(data)
	s.Object(eventKeys[:], f[:])
	if err := s.End(); err != nil {
		return llm.Malformed(name, err)
	}
	typ := name
	if !f[0].IsZero() {
		typ = rawjson.Word(data, f[0])
	}
	r.meter.document(typ, data)
	var err error
	switch string(typ) {
	case "message_start":
		err = r.begin(data, f[1])
	case "content_block_start":
		err = r.start(data, f[2], f[3])
	case "content_block_delta":
		err = r.delta(data, f[2], f[4])
	case "content_block_stop":
		err = r.stop()
	case "message_delta":
		r.said()
	case "message_stop":
		if r.open != nil || r.strict && !r.begun {
			err = errors.New("the message ends within a block, or before it began")
			break
		}
		r.end()
	case "error", "":
		if f[5].IsZero() && len(typ) == 0 {
			break // an unknown event
		}
		if failure := llm.FailureIn(data); failure != nil {
			return failure
		}
		err = errors.New("an error that says nothing")
	}
	if err != nil {
		return llm.Malformed(typ, err)
	}
	return nil
}

func (r *reader) begin(data []byte, message rawjson.Span) error {
	if r.strict {
		content := rawjson.Member(data, message, "content")
		for range rawjson.Elements(data, content) {
			return errors.New("the message begins with content")
		}
		if k := content.KindOf(data); r.begun || message.IsZero() || k != 0 && k != '[' {
			return errors.New("two beginnings, or none")
		}
	}
	r.begun = true
	rawjson.Said(data, rawjson.Member(data, message, "id"), &r.id)
	r.said()
	return nil
}

func (r *reader) said() {
	if r.meter.Read.Counted {
		r.emit(llm.Event{Kind: llm.UsageSaid, Usage: r.meter.Read.Usage})
	}
}

func (r *reader) start(data []byte, index, at rawjson.Span) error {
	n, ok := rawjson.Int(data, index)
	switch {
	case r.open != nil:
		return errors.New("two blocks at once")
	case !ok:
		return errors.New("no index")
	case r.strict && (n != len(r.parts) || !r.begun):
		return errors.New("a block out of place")
	}
	b, err := newBlock(data, n, at)
	if err != nil {
		return err
	}
	r.open = b
	switch b.part.Kind {
	case llm.Thinking:
		r.emit(llm.Event{Kind: llm.ThinkingDelta, Index: len(r.parts), Text: b.part.Text})
	case llm.ToolCall:
		r.tell(llm.ToolCall, "")
	default:
		r.tell(b.part.Kind, b.part.Text)
	}
	return nil
}

var deltaEvents = map[llm.Kind]llm.EventKind{llm.Text: llm.TextDelta, llm.Thinking: llm.ThinkingDelta, llm.ToolCall: llm.CallDelta}

// tell emits a delta of the open block: a text for a part of the given kind.
func (r *reader) tell(kind llm.Kind, text string) {
	p := r.open.part
	if kind != p.Kind || kind == llm.Opaque || text == "" && kind != llm.ToolCall {
		return
	}
	e := llm.Event{Kind: deltaEvents[kind], Index: len(r.parts), Text: text}
	if kind == llm.ToolCall {
		e.Call = llm.Part{Kind: llm.ToolCall, CallID: p.CallID, Name: p.Name}
	}
	r.emit(e)
}

func (r *reader) delta(data []byte, index, at rawjson.Span) error {
	b := r.open
	if n, ok := rawjson.Int(data, index); b == nil || !ok || n != b.index {
		return errors.New("not of the open block")
	}
	kind, text, err := b.add(data, at)
	if err != nil && (r.strict || err != errDelta && err != errHalf) {
		return err
	}
	if text != "" {
		r.tell(kind, text)
	}
	return nil
}

// stop makes a part from the open block.
func (r *reader) stop() error {
	if r.open == nil {
		return errors.New("no block is open")
	}
	p := r.open.said()
	if r.strict || p.Kind == llm.Thinking || p.Kind == llm.Opaque {
		raw, err := r.open.whole()
		if err != nil {
			return err
		}
		if r.strict {
			r.raw = append(r.raw, raw)
		}
		if p.Kind == llm.Thinking || p.Kind == llm.Opaque {
			p.Raw = string(raw)
		}
	}
	if p.Kind == llm.ToolCall {
		p = llm.Sendable(p, r.id, len(r.parts), r.parts)
		r.emit(llm.Event{Kind: llm.CallDone, Index: len(r.parts), Call: p})
	}
	r.parts = append(r.parts, p)
	r.open = nil
	return nil
}
