package anthropic

import (
	"bytes"
	"errors"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// assembled puts the message of an answer together. Blocks of any kind are kept as they come.
type assembled struct {
	reader
	content []byte // of an answer that is not streamed
}

// NewAssembly returns an Assembly for a response with this Content-Type. Its only item is the message.
func NewAssembly(contentType string) *llm.Assembly {
	return llm.NewAssembly(contentType, &assembled{reader: reader{emit: func(llm.Event) {}, strict: true}})
}

// Document implements llm.Assembled.
func (a *assembled) Document(body []byte) error {
	var f [3]rawjson.Span
	s := rawjson.New(body)
	s.Object([]string{"id", "content", "type"}, f[:])
	if s.End() != nil || !rawjson.Is(body, f[2], "message") || f[1].KindOf(body) != '[' {
		return errors.New("no message")
	}
	rawjson.Said(body, f[0], &a.id)
	a.content, a.done = f[1].Of(body), true
	return nil
}

// Answer implements llm.Assembled.
func (a *assembled) Answer() (id string, items [][]byte, ok bool) {
	if !a.done || a.id == "" {
		return "", nil, false
	}
	content := a.content
	if content == nil {
		content = append(append([]byte{'['}, bytes.Join(a.raw, []byte{','})...), ']')
	}
	return a.id, [][]byte{append(append([]byte(`{"role":"assistant","content":`), content...), '}')}, true
}
