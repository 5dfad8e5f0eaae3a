package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// responsesReader reads the events of a streamed response. Its meter reads the model, usage and stop reason.
type responsesReader struct {
	emit  func(llm.Event)
	meter meter
	id    string
	items []*streamedItem // in the order of the output
	done  bool
}

// streamedItem is an item of the output. When the item is complete, parts are its parts. Before that, they are the id and
// name of a call, or one part for each text of a message.
type streamedItem struct {
	index int
	parts []llm.Part
	texts [][]byte // of parts, as far as they arrived
	whole bool
}

var responsesEventKeys = [10]string{
	"type", "response", "output_index", "item", "delta", "content_index", "error", "code", "message", "summary_index",
}

// Done implements llm.Reader.
func (r *responsesReader) Done() bool { return r.done }

// End implements llm.Reader.
func (r *responsesReader) End() bool { return r.done }

// Event implements llm.Reader.
func (r *responsesReader) Event(name, data []byte) error {
	if string(data) == "[DONE]" { // some endpoints send it here too
		return nil
	}
	var f [10]rawjson.Span
	s := rawjson.New(data)
	s.Object(responsesEventKeys[:], f[:])
	if err := s.End(); err != nil {
		return llm.Malformed(name, err)
	}
	typ := string(name)
	if !f[0].IsZero() {
		typ = string(rawjson.Word(data, f[0]))
	}
	r.meter.response([]byte(typ), data)
	var err error
	switch typ {
	case "response.created":
		rawjson.Said(data, rawjson.Member(data, f[1], "id"), &r.id)
	case "response.output_item.added":
		err = r.added(data, f[2], f[3])
	case "response.output_item.done":
		err = r.finished(data, f[2], f[3])
	case "response.output_text.delta":
		err = r.text(data, f[2], f[5], f[4])
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		err = r.delta(data, f[2], f[4], llm.ThinkingDelta)
	case "response.reasoning_summary_part.added":
		if n, _ := rawjson.Int(data, f[9]); n > 0 { // the parts of a summary are joined the same way
			r.emit(llm.Event{Kind: llm.ThinkingDelta, Index: r.indexOf(r.item(data, f[2])), Text: "\n"})
		}
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		err = r.delta(data, f[2], f[4], llm.CallDelta)
	case "response.completed", "response.incomplete", "response.done":
		return r.end(name, f[1].Of(data))
	case "response.failed", "error", "":
		if typ == "" && f[6].IsZero() {
			break // an unknown event
		}
		if failure := failureOf(data, f); failure != nil {
			return failure
		}
		err = errors.New("a failure that says nothing")
	}
	if err != nil {
		return llm.Malformed([]byte(typ), err)
	}
	return nil
}

// failureOf reads a failed response, or an event of type error. The event has the code and message itself or in an object.
func failureOf(data []byte, f [10]rawjson.Span) *llm.Failure {
	if !f[1].IsZero() {
		return llm.FailureIn(f[1].Of(data))
	}
	if !f[6].IsZero() {
		return llm.FailureIn(data)
	}
	failure := new(llm.Failure)
	rawjson.Said(data, f[7], &failure.Code)
	rawjson.Said(data, f[8], &failure.Message)
	if failure.Code+failure.Message == "" {
		return nil
	}
	return failure
}

// item returns the item that an event belongs to.
func (r *responsesReader) item(data []byte, at rawjson.Span) *streamedItem {
	index, _ := rawjson.Int(data, at)
	i, found := slices.BinarySearchFunc(r.items, index, func(it *streamedItem, index int) int { return cmp.Compare(it.index, index) })
	if !found {
		r.items = slices.Insert(r.items, i, &streamedItem{index: index})
	}
	return r.items[i]
}

// indexOf returns the index of the item's first part in the answer, as far as it is known. Items arrive one after another.
func (r *responsesReader) indexOf(it *streamedItem) int {
	n := 0
	for _, other := range r.items {
		if other == it {
			break
		}
		n += len(other.parts)
	}
	return n
}

func (r *responsesReader) added(data []byte, index, at rawjson.Span) error {
	parts, err := partsOf(at.Of(data))
	if err != nil {
		return err
	}
	it := r.item(data, index)
	if len(parts) == 1 && parts[0].Kind == llm.ToolCall {
		p := parts[0]
		it.parts = []llm.Part{{Kind: llm.ToolCall, CallID: p.CallID, Name: p.Name}}
		r.emit(llm.Event{Kind: llm.CallDelta, Index: r.indexOf(it), Call: it.parts[0]})
	}
	return nil
}

// text appends to a text of a message.
func (r *responsesReader) text(data []byte, index, content, at rawjson.Span) error {
	words, err := deltaText(data, at)
	if err != nil {
		return err
	}
	n, _ := rawjson.Int(data, content)
	it := r.item(data, index)
	if n < 0 || n > len(it.parts) {
		return errors.New("content out of order")
	}
	if n == len(it.parts) {
		it.parts = append(it.parts, llm.Part{})
	}
	for len(it.texts) <= n {
		it.texts = append(it.texts, nil)
	}
	it.texts[n] = append(it.texts[n], words...)
	r.emit(llm.Event{Kind: llm.TextDelta, Index: r.indexOf(it) + n, Text: words})
	return nil
}

// delta emits an addition to thinking or a call. The item holds the whole value when it is done.
func (r *responsesReader) delta(data []byte, index, at rawjson.Span, kind llm.EventKind) error {
	words, err := deltaText(data, at)
	if err != nil {
		return err
	}
	it := r.item(data, index)
	e := llm.Event{Kind: kind, Index: r.indexOf(it), Text: words}
	if kind == llm.CallDelta && len(it.parts) == 1 {
		e.Call = it.parts[0]
	}
	r.emit(e)
	return nil
}

func deltaText(data []byte, at rawjson.Span) (string, error) {
	if at.KindOf(data) != '"' {
		return "", errors.New("a delta without words")
	}
	return rawjson.Unquote(at.Of(data))
}

func (r *responsesReader) finished(data []byte, index, at rawjson.Span) error {
	parts, err := partsOf(at.Of(data))
	if err != nil {
		return err
	}
	it := r.item(data, index)
	var others []llm.Part
	for _, other := range r.items {
		if other != it && other.whole {
			others = append(others, other.parts...)
		}
	}
	first := r.indexOf(it)
	for i, p := range parts {
		if p.Kind == llm.ToolCall {
			parts[i] = llm.Sendable(p, r.id, first+i, others)
			r.emit(llm.Event{Kind: llm.CallDone, Index: first + i, Call: parts[i]})
		}
		others = append(others, parts[i])
	}
	it.parts, it.whole = parts, true
	return nil
}

// partsOf reads one item. The parts are copies.
func partsOf(item []byte) ([]llm.Part, error) {
	if !json.Valid(item) { // the item is stored; invalid JSON would break every later request
		return nil, errors.New("an item that is no JSON")
	}
	d := newDecoder(bytes.Join([][]byte{{'['}, item, {']'}}, nil))
	s := rawjson.New(d.Body)
	s.Enter('[')
	d.items(&s)
	for i := range d.Parts {
		d.Parts[i].Span = llm.Span{}
	}
	return d.Parts, d.Err()
}

// end reads the whole response. If the stream showed no items, they are taken from it.
func (r *responsesReader) end(name, response []byte) error {
	r.done = true
	whole, err := Responses{}.DecodeResponse(response)
	if err != nil {
		return llm.Malformed(name, err)
	}
	r.id = whole.ID
	if len(r.items) == 0 && len(whole.Message.Parts) > 0 {
		r.items = []*streamedItem{{parts: whole.Message.Parts, whole: true}}
		for i, p := range whole.Message.Parts {
			switch p.Kind {
			case llm.Text:
				r.emit(llm.Event{Kind: llm.TextDelta, Index: i, Text: p.Text})
			case llm.ToolCall:
				whole.Message.Parts[i] = llm.Sendable(p, r.id, i, whole.Message.Parts[:i])
				r.emit(llm.Event{Kind: llm.CallDone, Index: i, Call: whole.Message.Parts[i]})
			}
		}
	}
	if m := r.meter.Read; m.Counted {
		r.emit(llm.Event{Kind: llm.UsageSaid, Usage: m.Usage})
	}
	r.emit(llm.Event{Kind: llm.Stopped, Reason: r.meter.Read.StopReason})
	return nil
}

// Response implements llm.Reader.
func (r *responsesReader) Response() *llm.Response {
	m := r.meter.Read
	res := &llm.Response{ID: r.id, Model: m.Model, Usage: m.Usage, StopReason: m.StopReason}
	res.Message.Role = llm.Assistant
	for _, it := range r.items {
		if it.whole {
			res.Message.Parts = append(res.Message.Parts, it.parts...)
			continue
		}
		for _, text := range it.texts { // incomplete calls and reasoning cannot be sent back
			if len(text) > 0 {
				res.Message.Parts = append(res.Message.Parts, llm.Part{Text: string(text)})
			}
		}
	}
	return res
}
