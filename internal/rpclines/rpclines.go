// Package rpclines reads JSON-RPC 2.0 messages, one on each line, from any client. Protocol SDKs end the connection at an invalid
// line, or ignore it silently. With a Reader before the SDK, such a line gets an error answer, and the connection continues.
package rpclines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stet-dev/stet/internal/invisible"
)

// JSON-RPC error codes for invalid lines.
const (
	ParseError     = -32700
	InvalidRequest = -32600
)

// Message is a line that is a request, a notification or a response.
type Message struct {
	Line   []byte          // without a line end; the caller owns it
	ID     json.RawMessage // nil: the message is a notification
	Method string          // "": the message is a response
	Params json.RawMessage
}

// Refusal is the error for a line that is not a message or is too long.
type Refusal struct {
	ID   json.RawMessage // the id for the answer: "null" if the line has none
	Code int
	Why  string
}

func (r *Refusal) Error() string { return r.Why }

func refusal(id json.RawMessage, code int, why string) *Refusal {
	if id == nil {
		id = json.RawMessage("null")
	}
	return &Refusal{ID: id, Code: code, Why: why}
}

// Reader reads messages. It is not safe for concurrent use.
type Reader struct {
	in  *bufio.Reader
	max int
}

// NewReader returns a reader of messages of at most maxLength bytes.
func NewReader(in io.Reader, maxLength int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), max: maxLength}
}

// Next returns the next message. It skips empty lines; the last line may have no line end. After a *Refusal the next line can be
// read. Every other error is final, including io.EOF.
func (r *Reader) Next() (Message, error) {
	for {
		line, refused, err := r.line()
		switch {
		case refused != nil:
			return Message{}, refused
		case len(line) > 0:
			return parse(line)
		case err != nil:
			return Message{}, err
		}
	}
}

// line reads a line, without the space around it and a byte-order mark.
func (r *Reader) line() (line []byte, refused *Refusal, _ error) {
	var long *longLine
	for {
		part, err := r.in.ReadSlice('\n')
		if long == nil && len(line)+len(part) > r.max {
			long = &longLine{}
			long.read(line)
			line = nil
		}
		if long != nil {
			long.read(part)
		} else {
			line = append(line, part...) // the bufio.Reader owns the bytes of part
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long != nil:
			return nil, refusal(long.request(), InvalidRequest, fmt.Sprintf("a message may have at most %d bytes", r.max)), err
		default:
			return bytes.TrimSpace(invisible.SkipMark(line)), nil, err
		}
	}
}

// parse reads the members of a message. An error is a *Refusal.
func parse(line []byte) (Message, error) {
	if !json.Valid(line) {
		return Message{}, refusal(nil, ParseError, "this line is not JSON")
	}
	if line[0] == '[' {
		return Message{}, refusal(nil, InvalidRequest, "this line is no JSON-RPC message: it is an array; send each message in a line of its own")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil || fields == nil {
		return Message{}, refusal(nil, InvalidRequest, "this line is no JSON-RPC message")
	}
	m := Message{Line: line, Params: fields["params"]}
	if id, ok := fields["id"]; ok {
		if !isID(id) {
			return Message{}, refusal(nil, InvalidRequest, "an id is a string or a whole number")
		}
		m.ID = id
	}
	method, called := fields["method"]
	switch {
	case called && (json.Unmarshal(method, &m.Method) != nil || m.Method == ""):
		return Message{}, refusal(m.ID, InvalidRequest, "a method is a name")
	case !called && m.ID == nil:
		return Message{}, refusal(nil, InvalidRequest, "this line has neither id nor method")
	case !called && (fields["result"] == nil) == (fields["error"] == nil):
		return Message{}, refusal(m.ID, InvalidRequest, "a response has either a result or an error")
	}
	return m, nil
}

// isID reports whether id may be a request's: a string or a whole number.
func isID(id json.RawMessage) bool {
	number := len(id) > 0 && (id[0] == '-' || '0' <= id[0] && id[0] <= '9')
	return len(id) > 0 && id[0] == '"' || number && !bytes.ContainsAny(id, ".eE")
}
