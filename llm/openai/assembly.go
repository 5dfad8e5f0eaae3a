package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/internal/sse"
)

// maxAssembly limits the bytes of an answer that is put together.
const maxAssembly = 32 << 20

// Assembly collects the output items of a response from its bytes, streamed or not. Items are kept as they come. If the response
// failed or cannot be read, there are none. An Assembly may be used by one goroutine at a time.
type Assembly struct {
	stream *sse.Parser // nil: the response is one document
	whole  []byte      // the bytes of the document received so far
	size   int
	items  [][]byte // by their index
	id     string   // of the response; set when it is complete
	failed bool
}

// NewAssembly returns an Assembly for a response with this Content-Type.
func NewAssembly(contentType string) *Assembly {
	a := &Assembly{}
	if strings.Contains(strings.ToLower(contentType), "event-stream") {
		a.stream = &sse.Parser{Event: a.event, Max: maxAssembly}
	}
	return a
}

// Write takes all of p and returns no error.
func (a *Assembly) Write(p []byte) (int, error) {
	if a.id != "" || a.failed {
		return len(p), nil
	}
	a.size += len(p)
	switch {
	case a.size > maxAssembly:
		a.failed = true
	case a.stream != nil:
		_, _ = a.stream.Write(p) // a Parser returns no errors
		a.failed = a.failed || a.stream.Lost > 0
	default:
		a.whole = append(a.whole, p...)
		if bytes.HasSuffix(bytes.TrimRight(p, " \t\r\n"), []byte("}")) && json.Valid(a.whole) {
			a.end(a.whole)
		}
	}
	return len(p), nil
}

// Answer returns the id of the response and its items in the form of the conversation. ok is false if the response is
// incomplete or cannot be read.
func (a *Assembly) Answer() (id string, items [][]byte, ok bool) {
	if a.id == "" || a.failed {
		return "", nil, false
	}
	return a.id, a.items, true
}

// event reads one event of a stream.
func (a *Assembly) event(name, data []byte) {
	switch string(name) {
	case "response.output_item.done":
		var said struct {
			Index int `json:"output_index"`
			Item  json.RawMessage
		}
		if json.Unmarshal(data, &said) != nil || said.Index != len(a.items) || len(said.Item) == 0 {
			a.failed = true
			return
		}
		a.items = append(a.items, said.Item)
	case "response.completed", "response.incomplete", "response.done":
		var said struct{ Response json.RawMessage }
		if json.Unmarshal(data, &said) != nil {
			a.failed = true
			return
		}
		a.end(said.Response)
	case "response.failed", "error":
		a.failed = true
	}
}

// end reads the whole response. Some providers leave out the items that were streamed.
func (a *Assembly) end(response []byte) {
	var said struct {
		ID, Status string
		Output     []json.RawMessage
	}
	if json.Unmarshal(response, &said) != nil || said.ID == "" || said.Status == "failed" || said.Status == "in_progress" || said.Status == "queued" {
		a.failed = true
		return
	}
	if len(said.Output) > 0 {
		a.items = nil
		for _, item := range said.Output {
			a.items = append(a.items, item)
		}
	}
	a.id = said.ID
}
