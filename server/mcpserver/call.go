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

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// A call is begun, waited for, and answered, by its own request or by a later one.

// firstProgress is the time after which a running call sends its first progress. Some clients give up on a response without a
// first byte.
const firstProgress = time.Second

// maxSilence is the longest time that a client without progress waits for an answer.
const maxSilence = 25 * time.Second

// call answers a tools/call for one of the Caller's tools.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		turn := requestIn(ctx)
		turn.begin()
		turn.leave()
		return s.resume(ctx, req)
	}
	r, err := s.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.follow(ctx, req, r, true)
}

// begin starts a call. The call may run until its session ends.
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
	lease := limits.NewLease(s.memory.Of(session), s.config.Memory)
	context.AfterFunc(ctx, lease.Release) // when the answer is written
	turn := requestIn(ctx)
	// The values of ctx are kept: the SDK uses them to find the stream for this call's notifications.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &activeCall{call: call, user: userOf(req), cancel: cancel, onAsk: turn.leave}
	s.calls.add(r)
	stopped := context.AfterFunc(s.base, cancel)
	run := tool.Start(s.config.Caller, call)
	turn.begin()
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

// reason returns the cause of an error in words that a client may read. It returns "" for other errors, because they may contain
// names of files or hosts.
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

// follow waits until a request can be answered. The answer is the result of r, a question for the client's user, or "pending".
// While it waits, it sends progress. owner says that the request has started the call. If the client cancels such a request, the
// call is cancelled too.
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

// waitLimit returns a channel that receives when a request may no longer wait for a person; nil: it may wait without a limit. If
// atOnce is true, the request does not wait for a person at all, except for the client's user, who sees the question.
func (s *Server) waitLimit(req *mcp.CallToolRequest) (late <-chan time.Time, atOnce bool) {
	if !s.config.Await {
		return nil, false
	}
	wait, progress := s.config.Wait, req.Params.GetProgressToken() != nil
	atOnce = (wait < 0 || !progress) && req.Params.Name != awaitName // otherwise clients would call await_result in a loop without a pause
	if wait < 0 {
		wait = defaultWait
	}
	if !progress {
		wait = min(wait, maxSilence)
	}
	return time.After(wait), atOnce
}

// tell sends progress, if the client asked for progress. It returns the time until the next progress.
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

// deliver returns the result of an ended call. If the call was answered with "pending", it stays in the table for Config.Keep.
// The answer may be lost in transmission, and await_result can be called again.
func (s *Server) deliver(r *activeCall, result *mcp.CallToolResult) *mcp.CallToolResult {
	if !r.isDetached() {
		s.calls.forget(r)
	}
	copied := *result // the SDK changes it
	return &copied
}

// pending answers a request while a person elsewhere is deciding about its call.
func pending(r *activeCall) *mcp.CallToolResult {
	r.detach()
	text, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Needs   bool   `json:"needs_confirmation"`
		Pending string `json:"pending"`
		Text    string `json:"text"`
	}{false, true, r.id, "A person is asked to confirm; nothing is done yet. Call " + awaitName + " with the same \"pending\" for the outcome. Do not repeat the call."})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return textResult(string(text), false)
}

// resume answers a tools/call that contains the user's answer to a question (revision 2026-07-28).
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

// argumentsOf returns the arguments of a call in the client's own encoding. Missing or null arguments become {}.
func argumentsOf(req *mcp.CallToolRequest) json.RawMessage {
	if a := bytes.TrimSpace(req.Params.Arguments); len(a) > 0 && string(a) != "null" {
		return req.Params.Arguments
	}
	return json.RawMessage("{}")
}

// sameJSON reports whether a and b are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// clientOf returns the name and version that the client gives itself. It replaces invisible characters, and returns 100
// characters at most.
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

const awaitName = "await_result"

// awaitSpec has a short description, because every request of an agent contains it.
func awaitSpec() tool.Spec {
	return tool.Spec{
		Name:        awaitName,
		Description: "Wait for a call that answered \"pending\"; gives its result.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"pending":{"type":"string"}},"required":["pending"],"additionalProperties":false}`),
		ReadOnly:    true,
	}
}

// await answers await_result. The argument "pending" has the value that the call was answered with. The
// result is kept, so await_result can be called again. If the client cancels await_result,
// the call that it waits for continues.
func (s *Server) await(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	turn := requestIn(ctx)
	turn.begin()
	turn.leave() // it only waits
	if req.Params.RequestState != "" {
		return s.resume(ctx, req)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(argumentsOf(req), &fields); err != nil {
		return failure(tool.InvalidArgument, "the arguments are not a JSON object"), nil
	}
	for name := range fields {
		if name != "pending" {
			return failure(tool.InvalidArgument, "unknown argument "+quoted(name)), nil
		}
	}
	var id string
	if err := json.Unmarshal(fields["pending"], &id); err != nil || id == "" {
		return failure(tool.InvalidArgument, `"pending" has to be what the call answered as "pending"`), nil
	}
	r := s.calls.find(s.session(req), func(r *activeCall) bool { return r.isDetached() && r.id == id })
	if r == nil {
		return failure(tool.InvalidArgument, "no call is pending under the id "+quoted(id)), nil
	}
	return s.follow(ctx, req, r, false)
}
