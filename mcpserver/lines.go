package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lineReader stands between a client and the SDK's transport, and hands on
// lines that are JSON-RPC messages. The SDK would end the session over any
// other line; lineReader answers it with an error and reads on.
type lineReader struct {
	ctx  context.Context // done when the session is to end: nothing is handed on any more
	in   *bufio.Reader
	out  *lineWriter
	max  int    // the largest message, in bytes
	rest []byte // of the line that is being handed on
}

func newLineReader(ctx context.Context, in io.Reader, out *lineWriter, maxMessage int) *lineReader {
	return &lineReader{ctx: ctx, in: bufio.NewReaderSize(in, 64<<10), out: out, max: maxMessage}
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.next()
		switch {
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err()
		case errors.Is(err, errLong):
			r.refuse(string(line), -32600, fmt.Sprintf("invalid request: a message of more than %d bytes", r.max))
		case err != nil && len(line) == 0:
			return 0, err
		case r.check(line):
			r.rest = append(line, '\n')
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer. The reader is not ours to close.
func (r *lineReader) Close() error { return nil }

var errLong = errors.New("message too long")

// next reads a line, without the space around it. The last one may have no line
// end, and comes with an error. Of a line that is longer than a message may be,
// which is errLong, next returns the id to answer under.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
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
			line = append(line, part...) // the reader's own bytes change
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long != nil:
			return long.id(), errLong
		default:
			return bytes.TrimSpace(line), err
		}
	}
}

// check reports whether a line is for the SDK, and answers it if it should be a
// message and is none.
func (r *lineReader) check(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	if !json.Valid(line) {
		r.refuse("null", -32700, "parse error: this line is not JSON")
		return false
	}
	var message map[string]json.RawMessage
	if json.Unmarshal(line, &message) != nil || !isMessage(message) {
		id := "null"
		if isID(message["id"]) {
			id = string(message["id"])
		}
		r.refuse(id, -32600, "invalid request: this line is no JSON-RPC 2.0 request, notification or response")
		return false
	}
	return true
}

// isMessage reports whether m is what JSON-RPC 2.0 calls one. What it lets pass
// the SDK can decode.
func isMessage(m map[string]json.RawMessage) bool {
	if string(m["jsonrpc"]) != `"2.0"` || m["id"] != nil && !isID(m["id"]) {
		return false
	}
	if m["error"] != nil && json.Unmarshal(m["error"], new(jsonrpc.Error)) != nil {
		return false
	}
	if method := m["method"]; method != nil {
		return method[0] == '"'
	}
	return m["id"] != nil && (m["result"] != nil) != (m["error"] != nil)
}

// isID reports whether id may be a request's: a string or a whole number.
func isID(id json.RawMessage) bool {
	number := len(id) > 0 && (id[0] == '-' || '0' <= id[0] && id[0] <= '9')
	return len(id) > 0 && id[0] == '"' || number && !bytes.ContainsAny(id, ".eE")
}

// refuse answers a line that is not handed on. It may wait until the client has
// read more.
func (r *lineReader) refuse(id string, code int, why string) {
	r.out.waitToRead(r.ctx, func() bool { return r.out.unread < r.out.limits.unread+r.out.limits.waiting })
	r.out.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why))
}
