package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stet-dev/stet/internal/rpclines"
)

// lineReader stands between a client and the SDK's transport, and hands on the
// lines that the SDK can decode. The SDK would end the session over any other
// line; lineReader answers it with an error and reads on.
type lineReader struct {
	ctx  context.Context // done when the session is to end: nothing is handed on any more
	in   *rpclines.Reader
	out  *lineWriter
	rest []byte // of the line that is being handed on
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
		if _, err := jsonrpc.DecodeMessage(m.Line); err != nil {
			id := m.ID
			if id == nil {
				id = json.RawMessage("null")
			}
			r.refuse(id, rpclines.InvalidRequest, "this line is no JSON-RPC 2.0 request, notification or response")
			continue
		}
		r.rest = append(m.Line, '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer. The reader is not ours to close.
func (r *lineReader) Close() error { return nil }

var _ io.ReadCloser = (*lineReader)(nil)

// refuse answers a line that is not handed on. It may wait until the client has
// read more.
func (r *lineReader) refuse(id json.RawMessage, code int, why string) {
	r.out.waitToRead(r.ctx, func() bool { return r.out.unread < r.out.limits.unread+r.out.limits.waiting })
	r.out.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why))
}
