package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines stands between a client's lines and the SDK. It answers the plain
// tools/call requests of a session by itself, in a quarter of the time: the
// SDK decodes a request five times and encodes a result six times. All other
// lines go to the SDK as they are, what is stateless included. A line that is
// no JSON is answered as such; the SDK would end the session.
type lines struct {
	server  *Server
	session *mcp.ServerSession
	in      io.Reader
	out     *lockedWriter
	sdk     *io.PipeWriter

	calls sync.WaitGroup
	mu    sync.Mutex
	open  map[string]context.CancelFunc // the calls that are being answered, by id
	over  bool                          // none are begun any more
}

// lockedWriter writes whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// Close implements io.Closer. The writer is not ours to close.
func (l *lockedWriter) Close() error { return nil }

// run reads until the end of what comes in, or of ctx or the SDK's session.
func (l *lines) run(ctx context.Context) {
	in := bufio.NewReaderSize(l.in, 64<<10)
	for {
		line, err := l.next(in)
		if errors.Is(err, errLong) {
			l.refuse("null", -32600, fmt.Sprintf("invalid request: a message of more than %d bytes", l.server.config.MaxMessage))
			continue
		}
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			l.drain(ctx)
			_ = l.sdk.CloseWithError(err) // it never fails
			return
		}
		if !l.take(ctx, line) {
			if _, err := l.sdk.Write(line); err != nil {
				return
			}
		}
	}
}

// end waits for the calls, whose context is done, and lets no more begin.
func (l *lines) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.calls.Wait()
}

var errLong = errors.New("message too long")

// next reads a line, its end included. The last one may have none. One that is
// longer than a message may be is read over, and errLong.
func (l *lines) next(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.server.config.MaxMessage; !long {
			line = append(line, part...) // the reader's own bytes change
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			if long {
				return nil, errLong
			}
			if err != nil && len(line) > 0 {
				line = append(line, '\n')
			}
			return line, err
		}
	}
}

// take answers a line, or says that it is the SDK's.
func (l *lines) take(ctx context.Context, line []byte) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	var message map[string]json.RawMessage
	if err := json.Unmarshal(line, &message); err != nil && !json.Valid(line) {
		l.refuse("null", -32700, "parse error: this line is not JSON")
		return true
	}
	if !isMessage(message) {
		id := "null"
		if isID(message["id"]) {
			id = string(message["id"])
		}
		l.refuse(id, -32600, "invalid request: this line is no JSON-RPC 2.0 request, notification or response")
		return true
	}
	switch string(message["method"]) {
	case `"tools/call"`:
		return l.call(ctx, message)
	case `"notifications/cancelled"`:
		return l.cancel(message["params"])
	}
	return false
}

// call answers a tools/call of an initialized session.
func (l *lines) call(ctx context.Context, message map[string]json.RawMessage) bool {
	id := message["id"]
	if !isID(id) || l.session.InitializeParams() == nil {
		return false
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(message["params"], &params) != nil || params["requestState"] != nil || params["inputResponses"] != nil {
		return false
	}
	p := &mcp.CallToolParamsRaw{Arguments: params["arguments"]}
	if json.Unmarshal(params["name"], &p.Name) != nil {
		return false
	}
	if params["_meta"] != nil && json.Unmarshal(params["_meta"], &p.Meta) != nil {
		return false
	}
	for key := range p.Meta {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return false // a stateless request: its answer has more to it
		}
	}
	if name, ok := l.server.config.Aliases[p.Name]; ok {
		p.Name = name
	}
	handler, ok := l.server.handlers[p.Name]
	if !ok {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.open[string(id)] != nil {
		cancel()
		return l.over // of a second request of the same id the SDK has words
	}
	l.open[string(id)] = cancel
	l.calls.Go(func() {
		defer cancel()
		result, err := handler(ctx, &mcp.CallToolRequest{Session: l.session, Params: p})
		l.mu.Lock()
		delete(l.open, string(id))
		l.mu.Unlock()
		if err == nil || ctx.Err() == nil { // what the client has cancelled it does not wait for
			l.answer(id, result, err)
		}
	})
	return true
}

// isMessage reports whether m is what JSON-RPC 2.0 calls one. The SDK ends the
// session over anything else.
func isMessage(m map[string]json.RawMessage) bool {
	if string(m["jsonrpc"]) != `"2.0"` || m["id"] != nil && !isID(m["id"]) {
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

// refuse answers a line that is no message.
func (l *lines) refuse(id string, code int, why string) {
	_, _ = fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why) // as in answer
}

// answer writes the response to a call.
func (l *lines) answer(id json.RawMessage, result *mcp.CallToolResult, err error) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if err != nil {
		b = appendString(append(b, `,"error":{"code":-32603,"message":`...), err.Error())
		b = append(b, "}}\n"...)
	} else {
		text := result.Content[0].(*mcp.TextContent).Text // see textResult
		b = appendString(append(b, `,"result":{"content":[{"type":"text","text":`...), text)
		b = append(b, `}]`...)
		if result.IsError {
			b = append(b, `,"isError":true`...)
		}
		b = append(b, "}}\n"...)
	}
	if _, err := l.out.Write(b); err != nil {
		l.server.log.Debug("answer", "err", err) // the end of what comes in follows
	}
}

// cancel cancels one of the calls here.
func (l *lines) cancel(params json.RawMessage) bool {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	l.mu.Lock()
	cancel := l.open[string(p["requestId"])]
	l.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// drain waits for the calls when nothing more comes in. Those that wait for a
// person are cancelled.
func (l *lines) drain(ctx context.Context) {
	drain(ctx, l.server, func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.open)
	}, nil)
}
