package sse

import (
	"bytes"
	"strings"
)

// Tap splits a response body into documents while its bytes pass: the data of each event of an event stream, or otherwise the whole
// body. It must be used by one goroutine at a time.
type Tap struct {
	parser Parser
	each   func(name, data []byte)
	stream bool
	known  bool // stream is known
	whole  []byte
	over   bool // whole would have exceeded its limit
	seen   int  // the length of whole at the last call of each
}

// NewTap returns a Tap for a response with this Content-Type. It calls each with every document and, in an event stream, the
// event's name. Both are valid only during the call. If the Content-Type is neither JSON nor an event stream, the first byte
// decides.
func NewTap(contentType string, each func(name, data []byte)) *Tap {
	t := &Tap{each: each, parser: Parser{Event: each}}
	t.stream = IsStream(contentType)
	t.known = t.stream || strings.Contains(strings.ToLower(contentType), "json")
	return t
}

// IsStream reports whether a Content-Type is that of an event stream.
func IsStream(contentType string) bool {
	return strings.Contains(strings.ToLower(contentType), "event-stream")
}

// Write reads all of p and returns no error.
func (t *Tap) Write(p []byte) (int, error) {
	if !t.known {
		first := bytes.TrimLeft(p, " \t\r\n")
		if len(first) == 0 {
			return len(p), nil
		}
		t.known, t.stream = true, first[0] != '{' && first[0] != '['
	}
	if t.stream {
		return t.parser.Write(p)
	}
	if t.over || len(t.whole)+len(p) > maxEvent {
		t.over, t.whole = true, nil
		return len(p), nil
	}
	t.whole = append(t.whole, p...)
	return len(p), nil
}

// Flush delivers the received part of a body that is not an event stream, unless it was delivered. The document may be incomplete.
func (t *Tap) Flush() {
	if len(t.whole) > t.seen {
		t.seen = len(t.whole)
		t.each(nil, t.whole)
	}
}
