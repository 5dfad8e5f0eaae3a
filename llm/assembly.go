package llm

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/stet-dev/stet/internal/sse"
)

// maxAssembly limits the bytes of an answer that is put together.
const maxAssembly = 32 << 20

// Assembly puts together what an answer adds to a conversation that its provider keeps too, from the bytes of the answer, streamed or
// not. If the answer is incomplete or cannot be read, there is nothing. An Assembly may be used by one goroutine at a time.
type Assembly struct {
	from   Assembled
	stream *sse.Parser // nil: the answer is one document
	whole  []byte      // the bytes of the document received so far
	size   int
	done   bool
	err    error // why the answer cannot be put together
}

// Assembled is the part of an Assembly that depends on the API.
type Assembled interface {
	// Event reads one event of a stream.
	Event(name, data []byte) error
	// Document reads an answer that is not streamed. It may keep body.
	Document(body []byte) error
	// Answer returns the id of the answer and its items in the form of the next request, each as it came. ok is false if the answer is
	// not complete yet.
	Answer() (id string, items [][]byte, ok bool)
}

// NewAssembly returns an Assembly for a response with this Content-Type.
func NewAssembly(contentType string, from Assembled) *Assembly {
	a := &Assembly{from: from}
	if sse.IsStream(contentType) {
		a.stream = &sse.Parser{Event: a.event, Max: maxAssembly}
	}
	return a
}

// Write takes all of p and returns no error.
func (a *Assembly) Write(p []byte) (int, error) {
	if a.size += len(p); a.size > maxAssembly && !a.done {
		a.end(errors.New("the answer is too large"))
	}
	switch {
	case a.done || a.err != nil:
	case a.stream != nil:
		_, _ = a.stream.Write(p) // a Parser returns no errors
	default:
		a.whole = append(a.whole, p...)
		if bytes.HasSuffix(bytes.TrimRight(p, " \t\r\n"), []byte("}")) && json.Valid(a.whole) {
			a.end(a.from.Document(a.whole))
		}
	}
	return len(p), nil
}

func (a *Assembly) event(name, data []byte) {
	if !a.done && a.err == nil {
		a.end(a.from.Event(name, data))
	}
}

// end records how a piece of the answer was read.
func (a *Assembly) end(err error) {
	_, _, a.done = a.from.Answer()
	if a.err = err; a.done || err != nil {
		a.whole = nil
	}
}

// Answer returns the id of the answer and its items. ok is false if the answer is incomplete or cannot be read.
func (a *Assembly) Answer() (id string, items [][]byte, ok bool) {
	if !a.done || a.err != nil {
		return "", nil, false
	}
	return a.from.Answer()
}
