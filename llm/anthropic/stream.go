package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// reader reads a streamed answer. Its meter reads the model, usage and stop reason.
type reader struct {
	emit  func(llm.Event)
	meter meter
	id    string
	parts []llm.Part // complete parts
	open  *block
	done  bool
}

// block is a content block that is not complete yet.
type block struct {
	index int    // in the stream
	start []byte // the block as it began, before its deltas
	kind  llm.Kind
	call  llm.Part // of a ToolCall: id and name
	words []byte   // of a text, thinking, or a call's input
	sig   []byte   // of thinking
}

var eventKeys = [7]string{"type", "message", "index", "content_block", "delta", "error", "usage"}

// Done implements llm.Reader.
func (r *reader) Done() bool { return r.done }

// End implements llm.Reader. Some endpoints do not send message_stop.
func (r *reader) End() bool {
	if !r.done && r.open == nil && r.meter.Reading.StopReason != "" {
		r.end()
	}
	return r.done
}

func (r *reader) end() {
	r.done = true
	r.emit(llm.Event{Kind: llm.Stopped, Reason: r.meter.Reading.StopReason})
}

// Response implements llm.Reader.
func (r *reader) Response() *llm.Response {
	parts := r.parts
	if b := r.open; b != nil && b.kind == llm.Text && len(b.words) > 0 {
		parts = append(parts[:len(parts):len(parts)], llm.Part{Text: string(b.words)})
	}
	m := r.meter.Reading
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
		err = r.begin(f[1].Of(data))
	case "content_block_start":
		err = r.start(data, f[2], f[3])
	case "content_block_delta":
		err = r.delta(data, f[2], f[4])
	case "content_block_stop":
		err = r.stop()
	case "message_delta":
		r.said()
	case "message_stop":
		if r.open != nil {
			err = errors.New("the message ends within a block")
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

var messageKeys = [1]string{"id"}

func (r *reader) begin(message []byte) error {
	var f [1]rawjson.Span
	s := rawjson.New(message)
	s.Object(messageKeys[:], f[:])
	rawjson.Said(message, f[0], &r.id)
	r.said()
	return s.Err()
}

func (r *reader) said() {
	if r.meter.Reading.Counted {
		r.emit(llm.Event{Kind: llm.UsageSaid, Usage: r.meter.Reading.Usage})
	}
}

func (r *reader) start(data []byte, index, at rawjson.Span) error {
	if r.open != nil {
		return errors.New("two blocks at once")
	}
	b := &block{start: append([]byte(nil), at.Of(data)...)}
	if !json.Valid(b.start) { // the block is stored; invalid JSON would break every later request
		return errors.New("a block that is no JSON")
	}
	var ok bool
	if b.index, ok = rawjson.Int(data, index); !ok {
		return errors.New("no index")
	}
	d := newDecoder(b.start)
	s := rawjson.New(b.start)
	d.part(&s, llm.Assistant)
	if d.Err() != nil {
		return d.Err()
	}
	p := d.Parts[0]
	b.kind = p.Kind
	r.open = b
	switch p.Kind {
	case llm.Text:
		b.words = []byte(p.Text)
		r.tell(llm.TextDelta, p.Text)
	case llm.Thinking:
		b.words = []byte(p.Text)
		r.emit(llm.Event{Kind: llm.ThinkingDelta, Index: len(r.parts), Text: p.Text})
	case llm.ToolCall:
		b.call = llm.Part{Kind: llm.ToolCall, CallID: p.CallID, Name: p.Name}
		if p.Args != "{}" {
			b.words = []byte(p.Args)
		}
		r.tell(llm.CallDelta, "")
	}
	return nil
}

// tell emits a delta of the open block.
func (r *reader) tell(kind llm.EventKind, text string) {
	if text != "" || kind == llm.CallDelta {
		r.emit(llm.Event{Kind: kind, Index: len(r.parts), Text: text, Call: r.open.call})
	}
}

var deltaKeys = [5]string{"type", "text", "partial_json", "thinking", "signature"}

func (r *reader) delta(data []byte, index, at rawjson.Span) error {
	b := r.open
	if n, ok := rawjson.Int(data, index); b == nil || !ok || n != b.index {
		return errors.New("not of the open block")
	}
	var f [5]rawjson.Span
	s := rawjson.At(data, at)
	if s.Object(deltaKeys[:], f[:]); s.Err() != nil {
		return s.Err()
	}
	typ := string(rawjson.Word(data, f[0]))
	for _, d := range [...]struct {
		typ  string
		at   rawjson.Span
		kind llm.EventKind
	}{
		{"text_delta", f[1], llm.TextDelta}, {"input_json_delta", f[2], llm.CallDelta}, {"thinking_delta", f[3], llm.ThinkingDelta},
	} {
		if typ != d.typ {
			continue
		}
		text, err := words(data, d.at)
		if err != nil {
			return err
		}
		b.words = append(b.words, text...)
		if b.kind != llm.Opaque && text != "" {
			r.tell(d.kind, text)
		}
		return nil
	}
	if typ == "signature_delta" {
		text, err := words(data, f[4])
		b.sig = append(b.sig, text...)
		return err
	}
	return nil // an unknown kind, for example citations
}

func words(data []byte, at rawjson.Span) (string, error) {
	if at.KindOf(data) != '"' {
		return "", errors.New("a delta without words")
	}
	return rawjson.Unquote(at.Of(data))
}

// stop makes a part from the open block.
func (r *reader) stop() error {
	b := r.open
	if b == nil {
		return errors.New("no block is open")
	}
	p := llm.Part{Kind: b.kind, Text: string(b.words)}
	switch b.kind {
	case llm.ToolCall:
		p.Text, p.CallID, p.Name, p.Args = "", b.call.CallID, b.call.Name, string(b.words)
		p = llm.Sendable(p, r.id, len(r.parts), r.parts)
		r.emit(llm.Event{Kind: llm.CallDone, Index: len(r.parts), Call: p})
	case llm.Thinking, llm.Opaque:
		raw, err := b.whole()
		if err != nil {
			return err
		}
		if p.Raw = string(raw); b.kind == llm.Opaque {
			p.Text = ""
		}
	}
	r.parts = append(r.parts, p)
	r.open = nil
	return nil
}

// whole returns the block in the form of an answer that is not streamed: its start and the deltas.
func (b *block) whole() ([]byte, error) {
	var w rawjson.Writer
	w.Open('{')
	switch {
	case b.kind == llm.Thinking && len(b.words) > 0:
		w.Member("thinking", string(b.words))
	case b.kind == llm.Opaque && len(b.words) > 0: // a call of a tool that runs at the provider
		w.Key("input")
		w.Raw(string(b.words), "input")
	}
	if len(b.sig) > 0 {
		w.Member("signature", string(b.sig))
	}
	w.Close('}')
	if len(b.words)+len(b.sig) == 0 {
		return b.start, nil
	}
	added, err := w.Bytes()
	if err != nil {
		return nil, err
	}
	raw, err := rawjson.Merge(b.start, added)
	if err != nil {
		return nil, fmt.Errorf("block: %w", err)
	}
	return raw, nil
}
