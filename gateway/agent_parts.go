package gateway

import (
	"context"
	"strings"

	"github.com/stet-dev/stet/gateway/wire"
)

// inOne is how large a call may be, in bytes, that goes in one frame where it may
// go in parts: a host takes less in one piece than it does in parts. (FILE-8,
// FILE-9)
const inOne = 4 << 20

// submit puts a call on its way: in one frame or, where it is too large for that,
// with its content in parts behind it, as long as ctx lasts.
func (a *Agent) submit(ctx context.Context, f *wire.ToolCall, p *pending, parts bool) error {
	link := a.session.link
	if !parts || len(f.Arguments) <= inOne && link.fits(f.Arguments) {
		return link.sendLater(ctx, f)
	}
	rest, content, ok := wire.CutContent(f.Arguments)
	if !ok {
		return link.sendLater(ctx, f)
	}
	f.Arguments, f.PartsFollow = rest, true
	if err := link.send(f); err != nil {
		return err
	}
	return link.sendParts(ctx, f.CallID, strings.NewReader(content), &p.sent, 0)
}

// find is the call that is under way by that id; nil if there is none.
func (a *Agent) find(id string) *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[id]
}

// part takes a part of a result's content.
func (a *Agent) part(f *wire.Part) {
	p := a.find(f.CallID)
	if p == nil {
		a.Log.Debug("part dropped", "why", "late, or of no call", "call", f.CallID)
		return
	}
	limit := a.MaxContent
	if limit == 0 {
		limit = maxContent
	}
	var answer wire.Frame = &wire.Taken{CallID: f.CallID, Seq: f.Seq}
	wrong := p.content.add(f, limit)
	if wrong != nil {
		answer = &wire.Cancel{CallID: f.CallID, Reason: "caller"}
	}
	if err := a.session.link.send(answer); err != nil {
		a.Log.Warn("not sent", "frame", wire.TypeOf(answer), "call", f.CallID, "err", err)
	}
	if wrong != nil {
		a.end(f.CallID, failure(wrong.code, wrong.words))
	}
}

// result ends a call with its result, into which goes the content that has come.
func (a *Agent) result(f *wire.ToolResult) {
	if p := a.find(f.CallID); p != nil {
		f = p.content.into(f)
	}
	a.end(f.CallID, f)
}
