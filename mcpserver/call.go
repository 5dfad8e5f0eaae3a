package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// early is when a call that has not ended sends its first progress: some
// clients give up on a response without a first byte.
const early = time.Second

// unheard is how long a client waits that gets no progress.
const unheard = 25 * time.Second

// call answers a tools/call for one of the Caller's tools.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		place := requestIn(ctx)
		place.begin()
		place.leave()
		return s.resume(ctx, req)
	}
	r, err := s.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.follow(ctx, req, r, true)
}

// begin begins a call, which goes on for as long as its session does.
func (s *Server) begin(ctx context.Context, req *mcp.CallToolRequest) (*running, error) {
	if !s.gate.enter() {
		return nil, ErrClosed
	}
	session := s.session(ctx, req)
	call := tool.Call{
		ID:        shortID() + shortID(),
		Session:   session,
		Account:   accountOf(req),
		Client:    clientOf(req),
		Name:      req.Params.Name,
		Arguments: argumentsOf(req),
	}
	s.watch(req, session)
	lease := budget.NewLease(s.memory.Of(session), s.config.Memory)
	context.AfterFunc(ctx, lease.Release) // once the answer is written
	place := requestIn(ctx)
	// The values of ctx stay: through them the SDK finds the stream on which
	// this call's notifications go out.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := s.calls.begin(call, frontOf(req), cancel)
	r.asks = place.leave
	stopped := context.AfterFunc(s.base, cancel)
	run := s.start(call)
	place.begin()
	go func() {
		defer s.gate.leave()
		defer stopped()
		defer cancel()
		result, err := run(lease.In(context.WithValue(ctx, runningKey{}, r)))
		switch {
		case err == nil:
			r.end(resultOf(result))
		case ctx.Err() != nil:
			r.end(failure(tool.Cancelled, "the call was cancelled"))
		default:
			s.log.Error("call", "tool", call.Name, "call", call.ID, "session", call.Session, "err", err)
			r.end(failure("internal_error", "the tool broke"+reason(err)+"; the log of stet says more under call "+call.ID))
		}
	}()
	return r, nil
}

// start gives a call its place among those of its session, where the Caller
// knows of such, and returns what does it.
func (s *Server) start(call tool.Call) func(context.Context) (tool.Result, error) {
	if c, ok := s.config.Caller.(tool.Starter); ok {
		return c.Start(call)
	}
	return func(ctx context.Context) (tool.Result, error) { return s.config.Caller.Call(ctx, call) }
}

// reason says why the tool broke, where that is known in words that are the
// client's to hear; else it is empty. Other errors may name what is not.
func reason(err error) string {
	var worded interface{ Reason() string }
	var system syscall.Errno
	switch {
	case errors.As(err, &worded):
		return ": " + worded.Reason()
	case errors.As(err, &system):
		return ": " + system.Error()
	}
	return ""
}

// follow waits until there is something to answer a request with: the result
// of r, a question for the client's user, or that r is pending. Meanwhile it
// sends progress. When the client cancels the request of an owner, that is the
// end of the call too.
func (s *Server) follow(ctx context.Context, req *mcp.CallToolRequest, r *running, owner bool) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	begun := time.Now()
	tick := time.NewTimer(early)
	defer tick.Stop()
	patience, atOnce := s.patience(req)
	told, late := "", false
	for {
		now, changed := r.now()
		switch {
		case now.phase == ended:
			return s.deliver(r, now.result), nil
		case now.form != nil && stateless(req):
			return question(r, now.form), nil
		case now.phase == asking && (late || atOnce && !now.own):
			return pending(r), nil
		case now.phase == asking && told != now.what:
			told = now.what
			tick.Reset(s.tell(ctx, req, token, begun, now))
		}
		select {
		case <-changed:
		case <-tick.C:
			tick.Reset(s.tell(ctx, req, token, begun, now))
		case <-patience:
			late = true
		case <-ctx.Done():
			if owner {
				r.cancel()
				s.calls.forget(r)
			}
			return nil, ctx.Err()
		}
	}
}

// patience is a channel that says when a request may no longer wait for a
// person; nil is for ever. Where it is atOnce, it does not wait at all for
// anybody but the client's own user, who sees what is waited for.
func (s *Server) patience(req *mcp.CallToolRequest) (late <-chan time.Time, atOnce bool) {
	if !s.config.Await {
		return nil, false
	}
	wait, heard := s.config.Wait, req.Params.GetProgressToken() != nil
	atOnce = (wait < 0 || !heard) && req.Params.Name != awaitName // that one would be called without a pause
	if wait < 0 {
		wait = defaultWait
	}
	if !heard {
		wait = min(wait, unheard)
	}
	return time.After(wait), atOnce
}

// tell sends progress, if the client asked for it, and returns the time until
// the next one.
func (s *Server) tell(ctx context.Context, req *mcp.CallToolRequest, token any, begun time.Time, now state) time.Duration {
	if token == nil {
		return s.config.Progress
	}
	message := "working"
	if now.phase == asking {
		message = now.what
	}
	err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token,
		Progress:      time.Since(begun).Seconds(),
		Message:       message,
	})
	if err != nil {
		s.log.Debug("progress", "err", err)
	}
	return s.config.Progress
}

// deliver gives the result out. It is kept for a while longer: the answer may
// be lost on its way, and await_result can be called again.
func (s *Server) deliver(r *running, result *mcp.CallToolResult) *mcp.CallToolResult {
	if !r.isDetached() {
		s.calls.forget(r)
	}
	copied := *result // the SDK writes into it
	return &copied
}

// pending answers a call that a person decides on elsewhere.
func pending(r *running) *mcp.CallToolResult {
	r.detach()
	text, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Needs   bool   `json:"needs_confirmation"`
		Pending string `json:"pending"`
		Text    string `json:"text"`
	}{false, true, r.id, "A person is asked to confirm; nothing is done yet. Call " + awaitName + " with this id for the outcome. Do not repeat the call."})
	if err != nil {
		panic(err) // strings always marshal
	}
	return textResult(string(text), false)
}

// resume answers a tools/call that brings the user's answer to a question
// (revision 2026-07-28).
func (s *Server) resume(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	secret := req.Params.RequestState
	r := s.calls.find(s.session(ctx, req), func(r *running) bool { return r.secret == secret })
	if r == nil {
		return nil, invalidParams("requestState is unknown or expired: call the tool again without it")
	}
	owner := req.Params.Name != awaitName
	if owner && (r.call.Name != req.Params.Name || !sameJSON(r.call.Arguments, argumentsOf(req))) {
		return nil, invalidParams("requestState belongs to another call")
	}
	if response, ok := req.Params.InputResponses[formKey]; ok {
		r.answer(response)
	}
	return s.follow(ctx, req, r, owner)
}

func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// argumentsOf returns a call's arguments as the client wrote them.
func argumentsOf(req *mcp.CallToolRequest) json.RawMessage {
	if a := bytes.TrimSpace(req.Params.Arguments); len(a) > 0 && string(a) != "null" {
		return req.Params.Arguments
	}
	return json.RawMessage("{}")
}

// sameJSON reports whether a and b are the same value.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// clientOf is what the client calls itself, fit for a record.
func clientOf(req *mcp.CallToolRequest) string {
	info := req.ClientInfo()
	if info == nil {
		return ""
	}
	name := strings.TrimSpace(info.Name + " " + info.Version)
	clean := []rune(strings.Map(func(c rune) rune {
		if !invisible.Plain(c) {
			return '?'
		}
		return c
	}, name))
	return string(clean[:min(len(clean), 100)])
}
