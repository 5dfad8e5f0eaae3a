package mcpserver

import (
	"context"
	"encoding/json"
	"sync/atomic"
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
	size   int // what it takes while it waits, in bytes

	taken atomic.Bool // somebody answers it
	left  atomic.Bool // the outlet counts it no more
}

// briefly is how long a call, its answer included, may hold up the goroutine
// that reads. Most are done by then, and to hand them to another goroutine would
// take as long again.
const briefly = 300 * time.Microsecond

// do does a call, and answers it. If it takes its time, or the client takes its
// time to read the answer, another goroutine reads on meanwhile: do reports
// whether this one still has to.
func (l *lines) do(ctx context.Context, c *lineCall) (reads bool) {
	if l.behind.Load() > 0 || !l.out.enter() {
		l.postpone(ctx, c)
		return true
	}
	r, work := c.begin()
	if r == nil {
		return true
	}
	slow := time.AfterFunc(briefly, func() {
		if c.taken.CompareAndSwap(false, true) {
			go c.follow(r)
		}
		l.run(ctx)
	})
	r.asks = func() {
		c.leave()
		if slow.Stop() {
			slow.Reset(0)
		}
	}
	work()
	if c.taken.CompareAndSwap(false, true) {
		now, _ := r.now()
		c.answer(l.server.deliver(r, now.result), nil)
	}
	return slow.Stop()
}

// begin begins a call for which there is room. If it returns nil, there is
// nothing to be done for it any more.
func (c *lineCall) begin() (r *running, work func()) {
	s := c.lines.server
	if c.ctx.Err() != nil {
		go c.answer(nil, c.ctx.Err())
		return nil, nil
	}
	if c.req.Params.Name == awaitName { // it waits, and does nothing
		c.leave()
		go c.handle()
		return nil, nil
	}
	r, work, err := s.begin(c.ctx, c.req)
	if err != nil {
		go c.answer(nil, err)
		return nil, nil
	}
	return r, work
}

// postpone has a call wait until the client has read more of what it is owed.
func (l *lines) postpone(ctx context.Context, c *lineCall) {
	l.behind.Add(1)
	l.out.hold(ctx, c.size)
	l.late <- c // there is room: see hold
}

// catchUp does the calls that wait for room, until done.
func (l *lines) catchUp(done <-chan struct{}) {
	for {
		select {
		case c := <-l.late:
			l.out.await(c.ctx)
			if r, work := c.begin(); r != nil {
				r.asks = c.leave
				go work()
				go c.follow(r)
			}
			l.out.release(c.size)
			l.behind.Add(-1)
		case <-done:
			return
		}
	}
}

// handle has the tool's handler do all of it.
func (c *lineCall) handle() {
	c.answer(c.lines.server.handlers[c.req.Params.Name](c.ctx, c.req))
}

// follow answers a call that takes its time.
func (c *lineCall) follow(r *running) {
	c.answer(c.lines.server.follow(c.ctx, c.req, r, true))
}

// leave makes room for another call.
func (c *lineCall) leave() {
	if c.left.CompareAndSwap(false, true) {
		c.lines.out.leave()
	}
}

// answer ends the call with its response, unless the client has cancelled it
// and waits for none. It may have to write it, and more.
func (c *lineCall) answer(result *mcp.CallToolResult, err error) {
	l := c.lines
	drain := false
	if err == nil || c.ctx.Err() == nil {
		drain = l.out.put(response(c.id, result, err))
	}
	c.leave()
	l.mu.Lock()
	delete(l.open, string(c.id))
	l.mu.Unlock()
	c.cancel()
	l.calls.Done() // end does not wait for the client
	if drain {
		l.out.drain()
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
