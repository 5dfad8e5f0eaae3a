package gateway

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// rest serves agents that make calls over plain HTTP.
type rest struct {
	h     *Hub
	calls restCalls
}

// usualWait and longestWait are the default and the maximum time that a request waits for its result.
const (
	usualWait   = 45 * time.Second
	longestWait = 10 * time.Minute
)

//go:embed openapi.json
var openAPI []byte

func (h *Hub) routes(mux *http.ServeMux) {
	r := &rest{h: h, calls: restCalls{byID: map[string]*restCall{}}}
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // the client may be gone
	})
	mux.HandleFunc("GET /v1/workspaces", r.agent(r.workspaces))
	mux.HandleFunc("POST /v1/sessions/{session}/tools/{tool}", r.agent(r.begin))
	mux.HandleFunc("GET /v1/sessions/{session}/calls/{call}", r.agent(r.await))
	mux.HandleFunc("DELETE /v1/sessions/{session}/calls/{call}", r.agent(r.cancel))
	mux.HandleFunc("DELETE /v1/sessions/{session}", r.agent(r.end))
}

// agent accepts only requests with an agent's token.
func (r *rest) agent(serve func(http.ResponseWriter, *http.Request, Identity)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		who, ok := r.h.identify(w, req)
		switch {
		case !ok:
		case !who.May(wire.Agent):
			r.refuse(w, req, who, http.StatusForbidden, wire.Forbidden, who.Refusal(wire.Agent, ""))
		case req.PathValue("session") != "" && !isName(req.PathValue("session")):
			fail(w, http.StatusBadRequest, wire.Malformed, "a session is named by letters, digits, dots, - and _, 64 at most")
		case req.PathValue("call") != "" && !isName(req.PathValue("call")):
			fail(w, http.StatusBadRequest, wire.Malformed, "a call is named by letters, digits, dots, - and _, 64 at most")
		case len(req.PathValue("tool")) > limits.Name:
			fail(w, http.StatusBadRequest, wire.Malformed, fmt.Sprintf("the name of a tool has %d bytes at most", limits.Name))
		default:
			serve(w, req, who)
		}
	}
}

// refuse refuses a request that has a valid token.
func (r *rest) refuse(w http.ResponseWriter, req *http.Request, who Identity, status int, code, message string) {
	r.h.recordRefusal(who, &wire.Hello{Client: agentOf(req)}, &wire.Error{Code: code, Message: message})
	fail(w, status, code, message)
}

// workspaces lists the workspaces that can be called.
func (r *rest) workspaces(w http.ResponseWriter, _ *http.Request, who Identity) {
	type workspace struct {
		Name  string      `json:"name"`
		Tools []wire.Tool `json:"tools"`
	}
	out := []workspace{}
	for _, name := range r.h.Workspaces() {
		if tools, ok := r.h.hosts.tools(name); ok && who.reaches(name) {
			out = append(out, workspace{name, tools})
		}
	}
	_ = answer(w, http.StatusOK, out) // the client may be gone
}

// begin starts a call. The body has its arguments.
func (r *rest) begin(w http.ResponseWriter, req *http.Request, who Identity) {
	release, ok := r.takeBodyBytes(w, req, who)
	if !ok {
		return
	}
	defer release()
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, int64(r.h.config.Limits.Frame)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		r.refuse(w, req, who, http.StatusRequestEntityTooLarge, string(tool.FileTooLarge), "the body is larger than the gateway takes")
		return
	case errors.Is(err, os.ErrDeadlineExceeded):
		fail(w, http.StatusRequestTimeout, string(tool.Timeout), fmt.Sprintf("no byte of the body arrived for %v", httpguard.Pause))
		return
	case err != nil:
		return // the client is gone
	}
	f, id, why := callIn(req, body)
	wait, wrong := waitIn(req)
	if why == "" {
		why = wrong
	}
	if why != "" {
		fail(w, http.StatusBadRequest, wire.Malformed, why)
		return
	}
	named := req.URL.Query().Get("workspace")
	if named != "" && !isName(named) {
		fail(w, http.StatusBadRequest, wire.Malformed, badWorkspace)
		return
	}
	if why := who.Refusal(wire.Agent, named); why != "" {
		r.refuse(w, req, who, http.StatusForbidden, wire.Forbidden, why)
		return
	}
	workspace, no := r.h.workspaceFor(who, named)
	if no != nil {
		_ = answer(w, http.StatusOK, underID(no, id))
		return
	}
	c := r.newCall(r.h.newCall(f, who, req.PathValue("session"), id, workspace))
	over, ok := r.calls.add(c, r.h.hosts.repeats(workspace, f.ToolName))
	for _, s := range over {
		r.h.leave(s)
	}
	if !ok {
		fail(w, http.StatusConflict, wire.Malformed, fmt.Sprintf(
			"this call_id was used before in this session: a call is done once; GET /v1/sessions/%s/calls/%s has its result",
			req.PathValue("session"), id))
		return
	}
	r.h.start(c.call)
	r.follow(w, req, c, id, wait)
}

// newCall returns a call whose result is kept.
func (r *rest) newCall(made *call) *restCall {
	c := &restCall{call: made, done: make(chan struct{}), waiting: make(chan struct{})}
	made.tell = func(f wire.Frame) {
		if _, ok := f.(*wire.ToolResult); ok {
			c.once.Do(func() { close(c.waiting) })
		}
	}
	made.done = func(result *wire.ToolResult, release func()) {
		c.result, c.release = result, release
		r.calls.expire(c)
		close(c.done)
	}
	return c
}

// patience is how long a request waits for memory. After that it is asked to retry after retryAfter seconds.
const (
	patience   = 5 * time.Second
	retryAfter = "5"
)

// takeBodyBytes takes memory for the request's body. If it cannot, it answers the request.
func (r *rest) takeBodyBytes(w http.ResponseWriter, req *http.Request, who Identity) (release func(), ok bool) {
	size := req.ContentLength
	if limit := int64(r.h.config.Limits.Frame); size < 0 || size > limit {
		size = limit
	}
	ctx, cancel := context.WithTimeout(req.Context(), patience)
	defer cancel()
	release, err := limits.Acquire(ctx, size, r.h.tokens.Of(who.ID), r.h.config.Memory)
	switch {
	case err == nil:
		return release, true
	case errors.Is(err, limits.ErrTooLarge):
		r.refuse(w, req, who, http.StatusRequestEntityTooLarge, string(tool.FileTooLarge), "the body is larger than the gateway can hold")
	case req.Context().Err() == nil:
		w.Header().Set("Retry-After", retryAfter)
		fail(w, http.StatusServiceUnavailable, string(tool.RateLimited), "the gateway holds too many bytes for other calls: try again in "+retryAfter+" s")
	}
	return nil, false
}

// agentOf returns what a request's client calls itself.
func agentOf(req *http.Request) string { return limits.Clip(req.UserAgent(), limits.Name) }

// callIn returns the call of a request and the call's id. why says what is wrong with the request.
func callIn(req *http.Request, body []byte) (f wire.ToolCall, id, why string) {
	query := req.URL.Query()
	f = wire.ToolCall{ToolName: req.PathValue("tool"), Arguments: body, Client: agentOf(req)}
	if len(body) == 0 {
		f.Arguments = json.RawMessage("{}")
	} else if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return f, "", "the body must be the call's arguments, a JSON object"
	}
	if id = query.Get("call_id"); id == "" {
		id = newID()
	} else if !isName(id) {
		return f, "", "call_id is letters, digits, dots, - and _"
	}
	for key, to := range map[string]*int{"timeout_seconds": &f.TimeoutSeconds, "approval_timeout_seconds": &f.ApprovalTimeoutSeconds} {
		if v := query.Get(key); v != "" {
			var err error
			if *to, err = strconv.Atoi(v); err != nil || *to < 1 {
				return f, "", key + " is a whole number, 1 or more"
			}
		}
	}
	return f, id, ""
}

// waitIn returns how long the client wants to wait.
func waitIn(req *http.Request) (wait time.Duration, why string) {
	v := req.URL.Query().Get("wait")
	if v == "" {
		return usualWait, ""
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, "wait is a whole number of seconds"
	}
	return time.Duration(min(n, int(longestWait/time.Second))) * time.Second, ""
}

// underID returns the result with the caller's id.
func underID(r *wire.ToolResult, id string) *wire.ToolResult {
	own := *r
	own.CallID = id
	return &own
}

// follow answers a request with the call's result, or says that the call is still running; then the client can ask again. If the
// client disconnects before the call waits for a person, the call is cancelled.
func (r *rest) follow(w http.ResponseWriter, req *http.Request, c *restCall, id string, wait time.Duration) {
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-c.done:
		if sent := answer(w, http.StatusOK, underID(c.result, id)); sent == nil && c.large() {
			r.calls.drop(c)
		}
	case <-late.C:
		var goesOn wire.Frame = &wire.Progress{CallID: id, State: wire.Working}
		if closed(c.waiting) {
			goesOn = &wire.ToolResult{CallID: id, NeedsConfirmation: true}
		}
		_ = answer(w, http.StatusAccepted, goesOn)
	case <-req.Context().Done():
		if !closed(c.waiting) {
			c.call.cancel()
		}
	}
}

// find returns the call that a request names, or answers the request.
func (r *rest) find(w http.ResponseWriter, req *http.Request, who Identity) *restCall {
	c := r.calls.find(who.sessionOf(req.PathValue("session")) + "/" + req.PathValue("call"))
	if c == nil {
		fail(w, http.StatusNotFound, string(tool.InvalidArgument), "there is no such call, or its result is not kept any more")
	}
	return c
}

func (r *rest) await(w http.ResponseWriter, req *http.Request, who Identity) {
	wait, why := waitIn(req)
	if why != "" {
		fail(w, http.StatusBadRequest, wire.Malformed, why)
		return
	}
	if c := r.find(w, req, who); c != nil {
		r.follow(w, req, c, req.PathValue("call"), wait)
	}
}

func (r *rest) cancel(w http.ResponseWriter, req *http.Request, who Identity) {
	if c := r.find(w, req, who); c != nil {
		c.call.cancel()
		r.follow(w, req, c, req.PathValue("call"), usualWait)
	}
}

// end ends a session, its calls and its grants.
func (r *rest) end(w http.ResponseWriter, req *http.Request, who Identity) {
	calls, over := r.calls.end(who.sessionOf(req.PathValue("session")))
	for _, c := range calls {
		c.cancel()
	}
	for _, s := range over {
		r.h.leave(s)
	}
	w.WriteHeader(http.StatusNoContent)
}

// restCalls has the calls made over plain HTTP: running calls, and for some time ended calls. A call that waits for a person
// outlives its request. The client then asks for the result by the call's id.
type restCalls struct {
	mu    sync.Mutex
	byID  map[string]*restCall // by the call's id in the gateway
	ended []*restCall          // the oldest first
	bytes int                  // of all ended calls

	clients []clientSession // client sessions not known to be over, the oldest first
}

// restCall is a call that was made over plain HTTP.
type restCall struct {
	call    *call
	done    chan struct{} // closed when there is a result
	result  *wire.ToolResult
	release func()        // gives back the bytes taken for the result
	expiry  *time.Timer   // drops the result
	waiting chan struct{} // closed when the call waits for a person
	once    sync.Once     // for closing waiting
}

// How long a result is kept. A large result is dropped earlier, once a client has received it.
const (
	kept      = 5 * time.Minute
	keptLarge = 30 * time.Second
)

// maxKept is the limit of bytes of ended calls. When it is exceeded, the oldest call is dropped. The size of a call is its result
// plus keptCall.
const (
	maxKept  = 32 << 20
	keptCall = 4 << 10
)

// maxClients is the limit of client sessions that are not known to be over. When it is exceeded, the oldest is treated as over.
const maxClients = 4096

// size returns the bytes of the call once it has ended.
func (c *restCall) size() int { return keptCall + len(c.result.Result) }

// large reports whether the result is large.
func (c *restCall) large() bool { return len(c.result.Result) > smallAnswer }

// over reports whether there is a result.
func (c *restCall) over() bool { return closed(c.done) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// add adds a call, and reports whether it could. again says that the id of an ended call may be used again. over has client
// sessions that are now treated as over.
func (r *restCalls) add(c *restCall, again bool) (over []clientSession, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := c.call.f.CallID
	if before := r.byID[id]; before != nil && !(again && before.over()) {
		return nil, false
	}
	r.byID[id] = c
	client := clientSession{c.call.f.Session, c.call.to}
	if !slices.Contains(r.clients, client) {
		r.clients = append(r.clients, client)
	}
	if n := len(r.clients) - maxClients; n > 0 {
		over = slices.Clone(r.clients[:n])
		r.clients = slices.Delete(r.clients, 0, n)
	}
	return over, true
}

// find returns the call with that id, or nil.
func (r *restCalls) find(id string) *restCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// expire drops an ended call after some time. Until then a client can fetch the result again, because an answer may be lost.
func (r *restCalls) expire(c *restCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, c)
	for r.bytes += c.size(); r.bytes > maxKept && len(r.ended) > 1; {
		r.remove(r.ended[0])
	}
	keep := kept
	if c.large() {
		keep = keptLarge
	}
	c.expiry = time.AfterFunc(keep, func() { r.drop(c) })
}

// drop removes an ended call. Requests that wait for it still get its result.
func (r *restCalls) drop(c *restCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c)
}

// remove is drop for callers that hold mu.
func (r *restCalls) remove(c *restCall) {
	i := slices.Index(r.ended, c)
	if i < 0 {
		return
	}
	r.ended = slices.Delete(r.ended, i, i+1)
	r.bytes -= c.size()
	c.release()
	c.expiry.Stop()                             // it refers to the result
	if id := c.call.f.CallID; r.byID[id] == c { // otherwise the call was made again
		delete(r.byID, id)
	}
}

// end removes a client session. It returns the session's calls and the workspaces that it called.
func (r *restCalls) end(session string) (calls []*call, over []clientSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.byID {
		if c.call.f.Session == session {
			calls = append(calls, c.call)
		}
	}
	r.clients = slices.DeleteFunc(r.clients, func(s clientSession) bool {
		if s.name == session {
			over = append(over, s)
		}
		return s.name == session
	})
	return calls, over
}
