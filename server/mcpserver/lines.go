package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/rpclines"
)

// lineReader is between a client and the SDK's transport. It passes on the lines that the SDK can decode. The SDK would end the
// session at any other line. lineReader answers such a line with an error and continues.
type lineReader struct {
	ctx  context.Context // done when the session must end: then no line is passed on
	in   *rpclines.Reader
	out  *lineWriter
	rest []byte // rest of the lines that are being passed on

	batches bool // the client's revision has batches
	// expect registers a request of a batch before it is passed on. It returns false if another one has its id.
	expect func(rpclines.Message, *batch) bool
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
		if m.Batch != nil {
			r.beginBatch(m.Batch)
			continue
		}
		if refused = r.refusal(m); refused != nil {
			r.refuse(refused.ID, refused.Code, refused.Why)
			continue
		}
		if m.Method == "initialize" {
			var p mcp.InitializeParams
			r.batches = json.Unmarshal(m.Params, &p) == nil && p.ProtocolVersion < firstWithoutBatches &&
				slices.Contains(mcp.SupportedProtocolVersions(), p.ProtocolVersion)
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

// refusal says why a message is not passed on; nil: it is.
func (r *lineReader) refusal(m rpclines.Message) *rpclines.Refusal {
	why := cmp.Or(oversize(m.Line), undecodable(m))
	if why == "" {
		return nil
	}
	id := m.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	return &rpclines.Refusal{ID: id, Code: rpclines.InvalidRequest, Why: why}
}

// refuse answers a line that is not passed on. It may block until the client has read more.
func (r *lineReader) refuse(id json.RawMessage, code int, why string) {
	r.out.waitToRead(r.ctx, func() bool { return r.out.unread < r.out.limits.unread+r.out.limits.waiting })
	r.out.put(append(rpcError(id, code, why), '\n'))
}
