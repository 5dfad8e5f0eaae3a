package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/internal/sse"
)

// maxAssembly limits the bytes of an answer that is put together.
const maxAssembly = 32 << 20

// Assembly puts the message of an answer together from its bytes, streamed or not. Blocks of any kind are kept as they come. If an
// event cannot be read, there is no message. An Assembly may be used by one goroutine at a time.
type Assembly struct {
	stream *sse.Parser // nil: the answer is one document
	whole  []byte      // the bytes of the document received so far
	size   int
	id     string
	blocks []*assembled
	begun  bool
	done   bool  // the message is complete
	err    error // why the message cannot be put together
}

// assembled is a content block that may still be incomplete.
type assembled struct {
	start     []byte // the block as it began
	text      []byte // appended to its text
	thinking  []byte // appended to its thinking
	input     []byte // replaces its input
	signature []byte // a JSON string that replaces its signature
	citations [][]byte
	compacted []byte // an object whose members replace its own
}

// NewAssembly returns an Assembly for a response with this Content-Type.
func NewAssembly(contentType string) *Assembly {
	a := &Assembly{}
	if strings.Contains(strings.ToLower(contentType), "event-stream") {
		a.stream = &sse.Parser{Event: a.event}
	}
	return a
}

// Write takes all of p and returns no error.
func (a *Assembly) Write(p []byte) (int, error) {
	if a.done || a.err != nil {
		return len(p), nil
	}
	if a.size += len(p); a.size > maxAssembly {
		a.fail(errors.New("the answer is too large"))
		return len(p), nil
	}
	if a.stream != nil {
		_, _ = a.stream.Write(p) // a Parser returns no errors
		if a.stream.Lost > 0 {
			a.fail(errors.New("an event is too large"))
		}
		return len(p), nil
	}
	a.whole = append(a.whole, p...)
	if bytes.HasSuffix(bytes.TrimRight(p, " \t\r\n"), []byte("}")) && json.Valid(a.whole) {
		a.document()
	}
	return len(p), nil
}

// Answer returns the id of the answer and its message in the form of the next request. ok is false if the answer is
// incomplete or cannot be read.
func (a *Assembly) Answer() (id string, message []byte, ok bool) {
	if !a.done || a.err != nil || a.id == "" {
		return "", nil, false
	}
	return a.id, a.whole, true
}

func (a *Assembly) fail(err error) { a.err, a.whole, a.blocks = err, nil, nil }

// finish makes the message from its content.
func (a *Assembly) finish(content []byte) {
	a.done, a.blocks = true, nil
	a.whole = append(append([]byte(`{"role":"assistant","content":`), content...), '}')
}

var assemblyKeys = [3]string{"id", "content", "type"}

// document reads an answer that is not streamed.
func (a *Assembly) document() {
	var f [3]rawjson.Span
	s := rawjson.New(a.whole)
	s.Object(assemblyKeys[:], f[:])
	if s.End() != nil || !rawjson.Is(a.whole, f[2], "message") || f[1].KindOf(a.whole) != '[' {
		a.fail(errors.New("no message"))
		return
	}
	rawjson.Said(a.whole, f[0], &a.id)
	a.finish(bytes.Clone(f[1].Of(a.whole)))
}

// event reads one event of a stream.
func (a *Assembly) event(name, data []byte) {
	if a.done || a.err != nil {
		return
	}
	var f [7]rawjson.Span
	s := rawjson.New(data)
	s.Object(eventKeys[:], f[:])
	if err := s.End(); err != nil {
		a.fail(err)
		return
	}
	typ := name
	if !f[0].IsZero() {
		typ = rawjson.Word(data, f[0])
	}
	var err error
	switch string(typ) {
	case "message_start":
		err = a.begin(f[1].Of(data))
	case "content_block_start":
		n, ok := rawjson.Int(data, f[2])
		block := bytes.Clone(f[3].Of(data))
		if !ok || n != len(a.blocks) || !a.begun || f[3].KindOf(data) != '{' || !json.Valid(block) {
			err = errors.New("a block out of place")
			break
		}
		a.blocks = append(a.blocks, &assembled{start: block})
	case "content_block_delta":
		n, ok := rawjson.Int(data, f[2])
		if !ok || n < 0 || n >= len(a.blocks) {
			err = errors.New("a delta of no block")
			break
		}
		err = a.blocks[n].add(data, f[4])
	case "message_stop":
		err = a.stop()
	case "error":
		err = errors.New("the stream reports an error")
	}
	if err != nil {
		a.fail(err)
	}
}

// begin reads the message of the first event of a stream.
func (a *Assembly) begin(message []byte) error {
	var f [3]rawjson.Span
	s := rawjson.New(message)
	s.Object(assemblyKeys[:], f[:])
	if a.begun || s.End() != nil || len(message) == 0 {
		return errors.New("two beginnings, or none")
	}
	if content := f[1].Of(message); len(content) > 0 && string(bytes.Join(bytes.Fields(content), nil)) != "[]" {
		return errors.New("the message begins with content")
	}
	a.begun = true
	rawjson.Said(message, f[0], &a.id)
	return nil
}

// stop ends the message.
func (a *Assembly) stop() error {
	if !a.begun {
		return errors.New("an end without a beginning")
	}
	content := []byte{'['}
	for i, b := range a.blocks {
		raw, err := b.whole()
		if err != nil {
			return err
		}
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, raw...)
	}
	a.finish(append(content, ']'))
	return nil
}

// Members of a delta: those of deltaKeys and others.
var assembledKeys = [8]string{"type", "text", "partial_json", "thinking", "signature", "citation", "content", "encrypted_content"}

// add appends a delta to the block.
func (b *assembled) add(data []byte, at rawjson.Span) error {
	if at.KindOf(data) != '{' {
		return errors.New("no delta")
	}
	var f [8]rawjson.Span
	s := rawjson.At(data, at)
	if s.Object(assembledKeys[:], f[:]); s.Err() != nil {
		return s.Err()
	}
	more := func(to *[]byte, at rawjson.Span) error {
		text, err := words(data, at)
		if err == nil && strings.ContainsRune(text, utf8.RuneError) && bytes.Contains(at.Of(data), []byte(`\u`)) {
			err = errors.New("half of a character")
		}
		*to = append(*to, text...)
		return err
	}
	switch string(rawjson.Word(data, f[0])) {
	case "text_delta":
		return more(&b.text, f[1])
	case "input_json_delta":
		return more(&b.input, f[2])
	case "thinking_delta":
		return more(&b.thinking, f[3])
	case "signature_delta":
		if _, err := words(data, f[4]); err != nil {
			return err
		}
		b.signature = bytes.Clone(f[4].Of(data))
		return nil
	case "citations_delta":
		citation := bytes.Clone(f[5].Of(data))
		if !json.Valid(citation) {
			return errors.New("no citation")
		}
		b.citations = append(b.citations, citation)
		return nil
	case "compaction_delta":
		var w rawjson.Writer
		w.Open('{')
		for i := 6; i < 8; i++ {
			if !f[i].IsZero() {
				w.Key(assembledKeys[i])
				w.Raw(string(f[i].Of(data)), assembledKeys[i])
			}
		}
		w.Close('}')
		var err error
		b.compacted, err = w.Bytes()
		return err
	}
	return errors.New("a delta of a kind that is not known")
}

var startKeys = [4]string{"text", "thinking", "citations", "input"}

// whole returns the block in the form of an answer that is not streamed.
func (b *assembled) whole() ([]byte, error) {
	var f [4]rawjson.Span
	s := rawjson.New(b.start)
	if s.Object(startKeys[:], f[:]); s.End() != nil {
		return nil, s.Err()
	}
	var w rawjson.Writer
	w.Open('{')
	for i, more := range [][]byte{b.text, b.thinking} {
		if len(more) == 0 {
			continue
		}
		before := ""
		rawjson.Said(b.start, f[i], &before)
		w.Member(startKeys[i], before+string(more))
	}
	if len(b.input) > 0 {
		w.Key("input")
		w.Raw(string(b.input), "input")
	}
	if len(b.signature) > 0 {
		w.Key("signature")
		w.Raw(string(b.signature), "signature")
	}
	if len(b.citations) > 0 {
		w.Key("citations")
		w.Open('[')
		if f[2].KindOf(b.start) == '[' {
			s = rawjson.At(b.start, f[2])
			for s.Enter('['); s.Next(); {
				w.Raw(string(s.Skip().Of(b.start)), "citation")
			}
		}
		for _, c := range b.citations {
			w.Raw(string(c), "citation")
		}
		w.Close(']')
	}
	w.Close('}')
	added, err := w.Bytes()
	if err != nil {
		return nil, err
	}
	raw := b.start
	for _, members := range [][]byte{added, b.compacted} {
		if len(members) > len("{}") {
			if raw, err = rawjson.Merge(raw, members); err != nil {
				return nil, err
			}
		}
	}
	return raw, nil
}
