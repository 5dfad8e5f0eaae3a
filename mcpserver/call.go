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

// firstProgress is when a call that has not ended sends its first progress: some
// clients give up on a response without a first byte.
const firstProgress = time.Second

// maxSilence is the longest time that a client waits without progress.
const maxSilence = 25 * time.Second

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
func (s *Server) begin(ctx context.Context, req *mcp.CallToolRequest) (*activeCall, error) {
	if !s.gate.enter() {
		return nil, ErrClosed
	}
	session := s.session(req)
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
	r := &activeCall{call: call, user: userOf(req), cancel: cancel, onAsk: place.leave}
	s.calls.add(r)
	stopped := context.AfterFunc(s.base, cancel)
	run := tool.Start(s.config.Caller, call)
	place.begin()
	go func() {
		defer s.gate.leave()
		defer stopped()
		defer cancel()
		result, err := run(lease.In(context.WithValue(ctx, callKey{}, r)))
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

// reason says why the tool broke, if the error has words that a client may
// read; else it is empty. Other errors may name files or hosts.
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

// follow waits until a request can be answered: with the result of r, with a
// question for the client's user, or with "pending". Meanwhile it sends progress.
// When the client cancels a request that is the owner of its call, the call is
// cancelled too.
func (s *Server) follow(ctx context.Context, req *mcp.CallToolRequest, r *activeCall, owner bool) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	begun := time.Now()
	tick := time.NewTimer(firstProgress)
	defer tick.Stop()
	limit, atOnce := s.waitLimit(req)
	announced, late := "", false
	for {
		now, changed := r.current()
		switch {
		case now.phase == ended:
			return s.deliver(r, now.result), nil
		case now.form != nil && stateless(req):
			return question(r, now.form), nil
		case now.phase == asking && (late || atOnce && !now.own):
			return pending(r), nil
		case now.phase == asking && announced != now.what:
			announced = now.what
			tick.Reset(s.tell(ctx, req, token, begun, now))
		}
		select {
		case <-changed:
		case <-tick.C:
			tick.Reset(s.tell(ctx, req, token, begun, now))
		case <-limit:
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

// waitLimit returns a channel that says when a request may no longer wait for a
// person; nil is never. With atOnce the request waits for no person but the
// client's own user, who sees the question.
func (s *Server) waitLimit(req *mcp.CallToolRequest) (late <-chan time.Time, atOnce bool) {
	if !s.config.Await {
		return nil, false
	}
	wait, progress := s.config.Wait, req.Params.GetProgressToken() != nil
	atOnce = (wait < 0 || !progress) && req.Params.Name != awaitName // clients would call that one without a pause
	if wait < 0 {
		wait = defaultWait
	}
	if !progress {
		wait = min(wait, maxSilence)
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

// deliver returns the result of a call that has ended. After "pending" the call
// stays in the table for Config.Keep: the answer may be lost on its way, and
// await_result can be called again.
func (s *Server) deliver(r *activeCall, result *mcp.CallToolResult) *mcp.CallToolResult {
	if !r.isDetached() {
		s.calls.forget(r)
	}
	copied := *result // the SDK writes into it
	return &copied
}

// pending answers a request whose call a person decides elsewhere.
func pending(r *activeCall) *mcp.CallToolResult {
	r.detach()
	text, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Needs   bool   `json:"needs_confirmation"`
		Pending string `json:"pending"`
		Text    string `json:"text"`
	}{false, true, r.id, "A person is asked to confirm; nothing is done yet. Call " + awaitName + " with the same \"pending\" for the outcome. Do not repeat the call."})
	if err != nil {
		panic(err) // strings always marshal
	}
	return textResult(string(text), false)
}

// resume answers a tools/call that brings the user's answer to a question
// (revision 2026-07-28).
func (s *Server) resume(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	secret := req.Params.RequestState
	r := s.calls.find(s.session(req), func(r *activeCall) bool { return r.secret == secret })
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
