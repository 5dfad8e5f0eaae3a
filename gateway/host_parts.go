package gateway

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// part takes a part of the call's content, of which the gateway sends no more than
// there is room for.
func (t *task) part(f *wire.Part) {
	select {
	case t.parts <- f:
	default:
		t.host.Log.Warn("call cancelled", "why", "more parts than were wanted", "call", t.id)
		t.cancel()
	}
}

// start is the first half of the call, which has its place among those of its
// session from here on, also where its content is yet to come. What it returns
// does the call. (FILE-9)
func (t *task) start(c tool.Call) func(context.Context) (tool.Result, error) {
	if t.parts == nil {
		return start(t.host.Caller, c)
	}
	if t.host.Stage == nil {
		return func(context.Context) (tool.Result, error) {
			return tool.Result{Text: "This host takes no contents in parts. Nothing was done.", Code: tool.FileTooLarge}, nil
		}
	}
	staged, err := t.host.Stage(c)
	if err != nil {
		return func(context.Context) (tool.Result, error) { return tool.Result{}, err }
	}
	c.Staged = staged
	do := start(t.host.Caller, c)
	return func(ctx context.Context) (tool.Result, error) {
		t.gather(ctx, staged)
		res, err := do(ctx)
		if aborted := staged.Abort(); aborted != nil {
			t.host.Log.Warn("what was staged is left", "call", t.id, "err", aborted)
		}
		return res, err
	}
}

// gather stages the content. Where not all of it comes, or fits, nothing is
// staged afterwards, and the call itself says what that comes to.
func (t *task) gather(ctx context.Context, staged tool.Staged) {
	for {
		select {
		case f := <-t.parts:
			if _, err := staged.Write(f.Data); err != nil {
				return // the call finds the error there
			}
			t.host.send(&wire.Taken{CallID: t.id, Seq: f.Seq})
			if f.Last {
				return
			}
		case <-ctx.Done():
			if err := staged.Abort(); err != nil {
				t.host.Log.Warn("what was staged is left", "call", t.id, "err", err)
			}
			return
		}
	}
}

// inParts sends the content of a result that is too large for a frame, and returns
// the rest, or what is to be said in its place.
func (t *task) inParts(ctx context.Context, r *wire.ToolResult) (*wire.ToolResult, error) {
	large := t.failure(tool.FileTooLarge, "The call was done, but its result is larger than the gateway takes. Ask for less at once.")
	rest, content, ok := wire.CutContent(r.Result)
	if !ok || !t.takesParts || !t.host.session.link.fits(rest) {
		return large, nil
	}
	return t.stream(ctx, &wire.ToolResult{CallID: t.id, Result: rest, Error: r.Error}, strings.NewReader(content))
}

// stream sends a content in parts, and returns the result that follows them: rest, or
// what is to be said in its place.
func (t *task) stream(ctx context.Context, rest *wire.ToolResult, content io.Reader) (*wire.ToolResult, error) {
	err := t.host.session.link.sendParts(ctx, t.id, content, &t.sent, firstPart)
	switch {
	case err != nil && ctx.Err() != nil:
		return t.failure(tool.Cancelled, "The call was cancelled."), nil
	case errors.Is(err, tool.ErrChanged):
		return t.failure(tool.ConcurrentModification, "The file was written to while it was read: read it again."), nil
	}
	return rest, err
}

func (t *task) failure(code tool.Code, message string) *wire.ToolResult {
	r := failure(code, message)
	r.CallID = t.id
	return r
}
