package sse

import (
	"bytes"
	"strings"
)

// Tap cuts the body of a response into documents as its bytes pass by: the
// data of each event of an event stream, or else the body as a whole. It is
// for one goroutine at a time.
type Tap struct {
	parser Parser
	each   func(name, data []byte)
	stream bool
	known  bool // stream is decided
	whole  []byte
	over   bool // whole would have outgrown its bound
	told   int  // the length of whole that each was last called with
}

// NewTap returns a Tap for a response with this Content-Type, which calls each
// with every document and, in an event stream, its event's name. Both are
// valid during the call only. Where the Content-Type says neither JSON nor event
// stream, the first byte decides.
func NewTap(contentType string, each func(name, data []byte)) *Tap {
	t := &Tap{each: each, parser: Parser{Event: each}}
	ct := strings.ToLower(contentType)
	t.stream = strings.Contains(ct, "event-stream")
	t.known = t.stream || strings.Contains(ct, "json")
	return t
}

// Write takes all of p and returns no error.
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

// Flush delivers what there is of a body that is no event stream, unless it
// was delivered already. It may be a part only: the receiver must bear that.
func (t *Tap) Flush() {
	if len(t.whole) > t.told {
		t.told = len(t.whole)
		t.each(nil, t.whole)
	}
}
