package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// block is a content block of a stream. It may still be incomplete.
type block struct {
	index     int      // in the stream
	start     []byte   // the block as it began
	part      llm.Part // of start
	text      []byte   // appended to its text or thinking, or replaces its input
	kind      llm.Kind // of the part that text belongs to
	signature []byte   // replaces its signature
	citations [][]byte // appended to its citations
	compacted []byte   // an object whose members replace its own
}

// newBlock returns the block that begins at an offset of data.
func newBlock(data []byte, index int, at rawjson.Span) (*block, error) {
	b := &block{index: index, start: bytes.Clone(at.Of(data))}
	if !json.Valid(b.start) { // the block is stored; invalid JSON would break every later request
		return nil, errors.New("a block that is no JSON")
	}
	d := newDecoder(b.start)
	s := rawjson.New(b.start)
	if d.part(&s, llm.Assistant); d.Err() != nil {
		return nil, d.Err()
	}
	b.part = d.Parts[0]
	b.part.Span = llm.Span{}
	return b, nil
}

// texts has the member of a delta whose text is appended, by the type of the delta, and the kind of the part that it belongs to.
var texts = map[string]struct {
	member string
	kind   llm.Kind
}{
	"text_delta": {"text", llm.Text}, "input_json_delta": {"partial_json", llm.ToolCall}, "thinking_delta": {"thinking", llm.Thinking},
}

var (
	errDelta = errors.New("a delta of a kind that is not known")
	errHalf  = errors.New("half of a character")
)

// add appends a delta to the block. It returns the text that it appends, for a part of kind. The errors errDelta and errHalf are of deltas that
// an answer for a person may have: it is then read without them, or with a replacement.
func (b *block) add(data []byte, at rawjson.Span) (kind llm.Kind, text string, err error) {
	if at.KindOf(data) != '{' {
		return 0, "", errors.New("no delta")
	}
	member := func(name string) rawjson.Span { return rawjson.Member(data, at, name) }
	typ := string(rawjson.Word(data, member("type")))
	switch typ {
	case "signature_delta":
		text, err = words(data, member("signature"))
		b.signature = append(b.signature, text...)
		return llm.Thinking, "", err
	case "citations_delta":
		citation := bytes.Clone(member("citation").Of(data))
		if !json.Valid(citation) {
			return 0, "", errDelta
		}
		b.citations = append(b.citations, citation)
		return llm.Text, "", nil
	case "compaction_delta":
		var w rawjson.Writer
		w.Open('{')
		for _, name := range []string{"content", "encrypted_content"} {
			if value := member(name); !value.IsZero() {
				w.Key(name)
				w.Raw(string(value.Of(data)), name)
			}
		}
		w.Close('}')
		b.compacted, err = w.Bytes()
		return llm.Opaque, "", err
	}
	of, ok := texts[typ]
	if !ok {
		return 0, "", errDelta
	}
	span := member(of.member)
	if text, err = words(data, span); err != nil {
		return 0, "", err
	}
	if len(b.text) > 0 && b.kind != of.kind {
		return 0, "", errors.New("deltas of two kinds")
	}
	b.kind = of.kind
	if b.text = append(b.text, text...); strings.ContainsRune(text, utf8.RuneError) && bytes.Contains(span.Of(data), []byte(`\u`)) {
		err = errHalf
	}
	return of.kind, text, err
}

func words(data []byte, at rawjson.Span) (string, error) {
	if at.KindOf(data) != '"' {
		return "", errors.New("a delta without words")
	}
	return rawjson.Unquote(at.Of(data))
}

// whole returns the block in the form of an answer that is not streamed.
func (b *block) whole() ([]byte, error) {
	var w rawjson.Writer
	all := rawjson.Whole(b.start)
	w.Open('{')
	switch name := map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking"}[b.kind]; {
	case len(b.text) == 0:
	case name != "":
		before := ""
		rawjson.Said(b.start, rawjson.Member(b.start, all, name), &before)
		w.Member(name, before+string(b.text))
	default: // a call, also one of a tool that runs at the provider
		w.Key("input")
		w.Raw(string(b.text), "input")
	}
	if len(b.signature) > 0 {
		w.Member("signature", string(b.signature))
	}
	if len(b.citations) > 0 {
		w.Key("citations")
		w.Open('[')
		for c := range rawjson.Elements(b.start, rawjson.Member(b.start, all, "citations")) {
			w.Raw(string(c.Of(b.start)), "citation")
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
				return nil, fmt.Errorf("block: %w", err)
			}
		}
	}
	return raw, nil
}

// said returns the block as a part of the answer, as far as it arrived, without its Raw.
func (b *block) said() llm.Part {
	p := b.part
	p.Raw = ""
	switch {
	case p.Kind != b.kind || len(b.text) == 0:
	case p.Kind == llm.ToolCall:
		p.Args = string(b.text)
	default:
		p.Text += string(b.text)
	}
	return p
}
