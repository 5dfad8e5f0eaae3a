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
	"sync/atomic"

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
	in      *bufio.Reader // of the goroutine in run
	out     *outlet
	sdk     *io.PipeWriter
	ending  chan struct{} // closed when nothing more comes in

	calls  sync.WaitGroup
	late   chan *lineCall // those that wait for room, in the order in which they came
	behind atomic.Int32   // how many they are
	mu     sync.Mutex
	open   map[string]context.CancelFunc // the calls that are being answered, by id
	over   bool                          // none are begun any more
}

// run reads until the end of what comes in, or of ctx or the SDK's session, or
// until another goroutine reads on.
func (l *lines) run(ctx context.Context) {
	for {
		line, err := l.next()
		if errors.Is(err, errLong) {
			l.refuse(ctx, string(line), -32600, fmt.Sprintf("invalid request: a message of more than %d bytes", l.server.config.MaxMessage))
			continue
		}
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			close(l.ending)
			l.drain(ctx)
			_ = l.sdk.CloseWithError(err) // it never fails
			return
		}
		work, mine := l.take(ctx, line)
		switch {
		case work != nil:
			work.size = len(line)
			if !l.do(ctx, work) {
				return
			}
		case !mine:
			l.out.pass(ctx, len(line))
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

// next reads a line, its end included. The last one may have none. Of one that
// is longer than a message may be, which is errLong, it returns the id to answer
// under.
func (l *lines) next() ([]byte, error) {
	var line []byte
	var long *outline
	for {
		part, err := l.in.ReadSlice('\n')
		if long == nil && len(line)+len(part) > l.server.config.MaxMessage {
			long = &outline{}
			long.read(line)
			line = nil
		}
		if long != nil {
			long.read(part)
		} else {
			line = append(line, part...) // the reader's own bytes change
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			if long != nil {
				return long.id(), errLong
			}
			if err != nil && len(line) > 0 {
				line = append(line, '\n')
			}
			return line, err
		}
	}
}

// take answers a line, or returns the call that it asks for. A line that is not
// mine is the SDK's.
func (l *lines) take(ctx context.Context, line []byte) (c *lineCall, mine bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, true
	}
	if id, p := plain(line); p != nil {
		return l.enter(ctx, id, p)
	}
	var message map[string]json.RawMessage
	if err := json.Unmarshal(line, &message); err != nil && !json.Valid(line) {
		l.refuse(ctx, "null", -32700, "parse error: this line is not JSON")
		return nil, true
	}
	if !isMessage(message) {
		id := "null"
		if isID(message["id"]) {
			id = string(message["id"])
		}
		l.refuse(ctx, id, -32600, "invalid request: this line is no JSON-RPC 2.0 request, notification or response")
		return nil, true
	}
	switch string(message["method"]) {
	case `"tools/call"`:
		return l.call(ctx, message)
	case `"notifications/cancelled"`:
		return nil, l.cancel(message["params"])
	}
	return nil, false
}

// call takes a tools/call.
func (l *lines) call(ctx context.Context, message map[string]json.RawMessage) (c *lineCall, mine bool) {
	id := message["id"]
	if !isID(id) {
		return nil, false
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(message["params"], &params) != nil || params["requestState"] != nil || params["inputResponses"] != nil {
		return nil, false
	}
	p := &mcp.CallToolParamsRaw{Arguments: params["arguments"]}
	if json.Unmarshal(params["name"], &p.Name) != nil {
		return nil, false
	}
	if params["_meta"] != nil && json.Unmarshal(params["_meta"], &p.Meta) != nil {
		return nil, false
	}
	for key := range p.Meta {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return nil, false // a stateless request: its answer has more to it
		}
	}
	return l.enter(ctx, id, p)
}

// enter makes a call of an initialized session one of those that are answered
// here.
func (l *lines) enter(ctx context.Context, id json.RawMessage, p *mcp.CallToolParamsRaw) (c *lineCall, mine bool) {
	if name, ok := l.server.config.Aliases[p.Name]; ok {
		p.Name = name
	}
	if _, ok := l.server.handlers[p.Name]; !ok || l.session.InitializeParams() == nil {
		return nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.open[string(id)] != nil {
		cancel()
		return nil, l.over // the SDK does a second request of the same id, and answers both alike
	}
	l.open[string(id)] = cancel
	l.calls.Add(1)
	return &lineCall{lines: l, id: id, ctx: ctx, cancel: cancel, req: &mcp.CallToolRequest{Session: l.session, Params: p}}, true
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
func (l *lines) refuse(ctx context.Context, id string, code int, why string) {
	l.out.pass(ctx, len(id)+len(why))
	l.out.post(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why))
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
