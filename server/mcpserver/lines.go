package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stet-dev/stet/internal/rpclines"
)

// lineReader is between a client and the SDK's transport. It passes on the lines that the SDK can decode. The SDK would end the
// session at any other line. lineReader answers such a line with an error and continues.
type lineReader struct {
	ctx  context.Context // done when the session must end: then no line is passed on
	in   *rpclines.Reader
	out  *lineWriter
	rest []byte // rest of the lines that are being passed on
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		m, err := r.in.Next()
		refused := (*rpclines.Refusal)(nil)
		switch {
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err()
		case errors.As(err, &refused):
			r.refuse(refused.ID, refused.Code, refused.Why)
			continue
		case err != nil:
			return 0, err
		}
		if why := cmp.Or(oversize(m.Line), undecodable(m)); why != "" {
			if m.ID == nil {
				m.ID = json.RawMessage("null")
			}
			r.refuse(m.ID, rpclines.InvalidRequest, why)
			continue
		}
		r.rest = append(m.Line, '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer. It does nothing: the owner of the input closes it.
func (r *lineReader) Close() error { return nil }

var _ io.ReadCloser = (*lineReader)(nil)

// undecodable says why the SDK cannot handle a message; "": it can. The SDK decodes a number as float64, so it would answer a large
// id with a different id.
func undecodable(m rpclines.Message) string {
	decoded, err := jsonrpc.DecodeMessage(m.Line)
	if err != nil {
		return "this line is no JSON-RPC 2.0 request, notification or response"
	}
	if r, ok := decoded.(*jsonrpc.Request); ok {
		if n, ok := r.ID.Raw().(int64); ok && strconv.FormatInt(n, 10) != string(m.ID) {
			return "an id that is a number has to be exact in 53 bits"
		}
	}
	return ""
}

// refuse answers a line that is not passed on. It may block until the client has read more.
func (r *lineReader) refuse(id json.RawMessage, code int, why string) {
	r.out.waitToRead(r.ctx, func() bool { return r.out.unread < r.out.limits.unread+r.out.limits.waiting })
	message, _ := json.Marshal(why) // a string always can be
	r.out.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, message))
}
