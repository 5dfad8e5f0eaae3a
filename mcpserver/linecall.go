package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineCall is a tools/call that came on a line, until it is answered.
type lineCall struct {
	lines  *lines
	id     json.RawMessage
	ctx    context.Context // until the client cancels the request
	cancel context.CancelFunc
	req    *mcp.CallToolRequest
}

// atOnce is how long a call may hold up the goroutine that reads. Most are done
// by then, and to hand them to another goroutine would take as long again.
const atOnce = 300 * time.Microsecond

// do does a call, and answers it. If it takes its time, another goroutine reads
// on meanwhile: do reports whether this one still has to.
func (l *lines) do(ctx context.Context, c *lineCall) (reads bool) {
	if c.req.Params.Name == awaitName { // it waits, and does nothing
		go c.handle()
		return true
	}
	r, work, err := l.server.begin(c.ctx, c.req)
	if err != nil {
		c.answer(nil, err)
		return true
	}
	slow := time.AfterFunc(atOnce, func() {
		go c.follow(r)
		l.run(ctx)
	})
	r.asks = func() {
		if slow.Stop() {
			slow.Reset(0)
		}
	}
	work()
	if !slow.Stop() {
		return false
	}
	now, _ := r.now()
	c.answer(l.server.deliver(r, now.result), nil)
	return true
}

// handle has the tool's handler do all of it.
func (c *lineCall) handle() {
	c.answer(c.lines.server.handlers[c.req.Params.Name](c.ctx, c.req))
}

// follow answers a call that takes its time.
func (c *lineCall) follow(r *running) {
	c.answer(c.lines.server.follow(c.ctx, c.req, r, true))
}

// answer ends the call with its response, unless the client has cancelled it
// and waits for none.
func (c *lineCall) answer(result *mcp.CallToolResult, err error) {
	l := c.lines
	defer l.calls.Done()
	defer c.cancel()
	l.mu.Lock()
	delete(l.open, string(c.id))
	l.mu.Unlock()
	if err != nil && c.ctx.Err() != nil {
		return
	}
	if _, err := l.out.Write(response(c.id, result, err)); err != nil {
		l.server.log.Debug("answer", "err", err) // the end of what comes in follows
	}
}

// response is the line that answers a call.
func response(id json.RawMessage, result *mcp.CallToolResult, err error) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if err != nil {
		b = appendString(append(b, `,"error":{"code":-32603,"message":`...), err.Error())
		return append(b, "}}\n"...)
	}
	text := result.Content[0].(*mcp.TextContent).Text // see textResult
	b = appendString(append(b, `,"result":{"content":[{"type":"text","text":`...), text)
	b = append(b, `}]`...)
	if result.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, "}}\n"...)
}
