package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// task is a call that the host runs.
type task struct {
	host    *Host
	id      string
	cancel  context.CancelFunc
	waiting bool   // waits for a person; guarded by Host.mu
	admit   func() // the gateway says that a person may be asked; guarded by Host.mu
	era     int    // the host's era when the call was begun
	ended   chan struct{}

	parts      chan *wire.Part // parts of its content; nil: the call has the content
	sent       window          // for the content of its result
	takesParts bool            // the caller accepts parts
}

// begin starts a call. A repeated call is dropped while the host remembers the first one, except a write that the Caller answers
// from its record.
func (h *Host) begin(f *wire.ToolCall) {
	ctx, cancel := context.WithCancel(h.base)
	t := &task{host: h, id: f.CallID, cancel: cancel, takesParts: f.TakesParts, ended: make(chan struct{}), admit: func() {}}
	if f.PartsFollow {
		t.parts = make(chan *wire.Part, wire.PartsAhead)
	}
	h.mu.Lock()
	first := h.running[f.CallID]
	if again := first != nil && first.era == h.era || first == nil && h.done.has(f.CallID); again && !h.repeats(f.ToolName) {
		h.mu.Unlock()
		cancel()
		h.Log.Warn("call dropped", "why", "it was begun before", "call", f.CallID)
		return
	}
	h.done.add(f.CallID)
	h.running[f.CallID] = t
	h.clients[f.Session] = true
	t.era = h.era
	h.mu.Unlock()
	c := tool.Call{
		ID: f.CallID, Session: f.Session, Client: f.Client, Name: f.ToolName, Arguments: f.Arguments, Once: true, Large: f.TakesParts, Relative: !f.Absolute,
		Patience: seconds(f.ApprovalTimeoutSeconds, usualApproval),
	}
	do := t.start(c)
	h.wg.Go(func() {
		defer cancel()
		defer close(t.ended)
		if first != nil { // the result of the first call must be known first
			<-first.ended
		}
		lease := limits.NewLease(h.sessions.Of(f.Session), h.Memory)
		defer lease.Release()
		res, err := do(lease.In(context.WithValue(ctx, taskKey{}, t)))
		if err != nil && ctx.Err() == nil {
			h.Log.Error("call", "tool", c.Name, "call", c.ID, "session", c.Session, "err", err)
		}
		t.report(ctx, t.result(ctx, res, err))
		h.mu.Lock()
		if h.running[t.id] == t {
			delete(h.running, t.id)
		}
		h.mu.Unlock()
	})
}

// repeats reports whether a call to a tool may be done again under the same id, because the Caller answers it from its record.
func (h *Host) repeats(name string) bool {
	if h.Remembers {
		for _, s := range h.Caller.Specs() {
			if s.Name == name {
				return !s.ReadOnly
			}
		}
	}
	return false
}

// start is the first half of the call. From here on the call has its turn among the calls of its session, even if its content has
// not arrived. The returned function runs the call.
func (t *task) start(c tool.Call) func(context.Context) (tool.Result, error) {
	if t.parts == nil {
		return tool.Start(t.host.Caller, c)
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
	do := tool.Start(t.host.Caller, c)
	return func(ctx context.Context) (tool.Result, error) {
		t.gather(ctx, staged)
		res, err := do(ctx)
		t.abort(staged)
		return res, err
	}
}

// part handles a part of the call's content. The gateway sends only as many parts as there is capacity for.
func (t *task) part(f *wire.Part) {
	select {
	case t.parts <- f:
	default:
		t.host.Log.Warn("call cancelled", "why", "more parts than were wanted", "call", t.id)
		t.cancel()
	}
}

// gather stages the content. If the content is incomplete or does not fit, it is not staged, and the call itself returns the error.
func (t *task) gather(ctx context.Context, staged tool.Staged) {
	for {
		select {
		case f := <-t.parts:
			if _, err := staged.Write(f.Data); err != nil {
				return // the call returns the error
			}
			t.host.send(&wire.Taken{CallID: t.id, Seq: f.Seq})
			if f.Last {
				return
			}
		case <-ctx.Done():
			t.abort(staged)
			return
		}
	}
}

func (t *task) abort(staged tool.Staged) {
	if err := staged.Abort(); err != nil {
		t.host.Log.Warn("what was staged is left", "call", t.id, "err", err)
	}
}

// result sends large content in parts and then returns the result frame. The details of an internal error are only in the host's
// log.
func (t *task) result(ctx context.Context, res tool.Result, err error) *wire.ToolResult {
	if err != nil {
		if res.Content != nil {
			_ = res.Content.Close() // the earlier error counts
		}
		if ctx.Err() != nil {
			return t.failure(tool.Cancelled, cancelled)
		}
		return t.failure(internalError, "the tool broke; the log of the host says more")
	}
	r := resultFrame(res)
	r.CallID = t.id
	if res.Content == nil {
		return r
	}
	r, err = t.stream(ctx, r, res.Content)
	if closed := res.Content.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.host.Log.Warn("content not sent", "call", t.id, "err", err)
		return t.failure(internalError, "the content could not be read; the log of the host says more")
	}
	return r
}

const cancelled = "The call was cancelled."

// resultFrame returns a result as a JSON object. A text that is not a JSON object is wrapped in one.
func resultFrame(res tool.Result) *wire.ToolResult {
	text := res.Text
	switch n := len(text); {
	case n >= 2 && text[0] == '{' && text[n-1] == '}':
		return &wire.ToolResult{Result: bytesOf(text), Error: string(res.Code)}
	case res.Failed():
		return failure(res.Code, text)
	}
	b, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Content string `json:"content"`
	}{true, text})
	if err != nil {
		b = []byte(`{"success":true}`) // strings always marshal
	}
	return &wire.ToolResult{Result: b}
}

// maxPrompt is the size in bytes up to which a result does not wait for the results before it. Results of writes are never larger:
// the caller always learns that a write was done.
const maxPrompt = 64 << 10

// report sends the result of the call.
func (t *task) report(ctx context.Context, r *wire.ToolResult) {
	t.host.mu.Lock()
	known := t.era == t.host.era
	t.host.mu.Unlock()
	if !known {
		return // the gateway does not know the call, or has made it again
	}
	gateway := t.host.gateway
	send := func(r *wire.ToolResult) error {
		if len(r.Result) <= maxPrompt {
			return gateway.send(r)
		}
		return gateway.sendWhenFree(ctx, r)
	}
	err := send(r)
	if errors.Is(err, errLarge) {
		if r, err = t.inParts(ctx, r); err == nil {
			err = send(r)
		}
	}
	if err != nil && ctx.Err() != nil { // the result waited, and its caller no longer wants it
		r = t.failure(tool.Cancelled, cancelled)
		err = gateway.send(r)
	}
	t.host.logUnsent(r, err)
}

// inParts sends the content of a result that is too large for a frame. It returns the rest of the result, or an error result.
func (t *task) inParts(ctx context.Context, r *wire.ToolResult) (*wire.ToolResult, error) {
	rest, content, ok := wire.CutContent(r.Result)
	if !ok || !t.takesParts || !t.host.gateway.fits(rest) {
		return t.failure(tool.FileTooLarge, "The call was done, but its result is larger than the gateway takes. Ask for less at once."), nil
	}
	return t.stream(ctx, &wire.ToolResult{CallID: t.id, Result: rest, Error: r.Error}, strings.NewReader(content))
}

// stream sends content in parts. It returns the result that follows them: rest, or an error result.
func (t *task) stream(ctx context.Context, rest *wire.ToolResult, content io.Reader) (*wire.ToolResult, error) {
	err := t.host.gateway.sendParts(ctx, t.id, content, &t.sent, firstPart)
	switch {
	case err != nil && ctx.Err() != nil:
		return t.failure(tool.Cancelled, cancelled), nil
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
