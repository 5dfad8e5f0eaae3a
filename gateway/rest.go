package gateway

import (
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

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/internal/slowbody"
	"github.com/stet-dev/stet/tool"
)

// rest is the calls that were made over plain HTTP. One that waits for a person
// outlives its request, and is asked for again by its id.
type rest struct {
	h  *Hub
	mu sync.Mutex
	of map[string]*request // by the call's id in the gateway

	visits map[clientSession]bool
	latest []clientSession // of visits, the oldest first

	ended []*request // that are kept, the oldest first
	bytes int        // of their results
}

// maxVisits is how many client sessions are kept of which nobody says that they
// are over: beyond them the oldest is.
const maxVisits = 4096

// request is a call over plain HTTP.
type request struct {
	call    *call
	done    chan struct{} // closed when there is a result
	result  *wire.ToolResult
	release func()        // gives back the bytes that are taken for the result
	expires *time.Timer   // forgets the result, which it holds
	waiting chan struct{} // closed when it waits for a person
	once    sync.Once
}

// over reports whether there is a result.
func (q *request) over() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// How long a request waits for its result where it does not say, how long at most,
// and how long a result is kept after that. A large one is kept until it was fetched.
const (
	usualWait   = 45 * time.Second
	longestWait = 10 * time.Minute
	kept        = 5 * time.Minute
	keptLarge   = 30 * time.Second
)

// maxKept is how many bytes of calls that have ended are kept, beyond which the oldest
// is not; of each its result counts, and keptCall for the rest of it.
const (
	maxKept  = 32 << 20
	keptCall = 4 << 10
)

// kept is how many bytes the call takes once it has ended.
func (q *request) kept() int { return keptCall + len(q.result.Result) }

func (h *Hub) routes(mux *http.ServeMux) {
	r := &rest{h: h, of: map[string]*request{}, visits: map[clientSession]bool{}}
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

//go:embed openapi.json
var openAPI []byte

// agent lets requests in that bear an agent's token.
func (r *rest) agent(serve func(http.ResponseWriter, *http.Request, Identity)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		who, ok := r.h.identify(w, req)
		switch {
		case !ok:
		case !who.May(wire.Agent):
			r.refuse(w, req, who, http.StatusForbidden, wire.Forbidden, "this token is not for the role agent")
		case req.PathValue("session") != "" && !isName(req.PathValue("session")):
			fail(w, http.StatusBadRequest, wire.Malformed, "a session is named by letters, digits, dots, - and _")
		default:
			serve(w, req, who)
		}
	}
}

// refuse refuses a request whose token is good.
func (r *rest) refuse(w http.ResponseWriter, req *http.Request, who Identity, status int, code, message string) {
	r.h.turnedAway(who, &wire.Hello{Client: req.UserAgent()}, &wire.Error{Code: code, Message: message})
	fail(w, status, code, message)
}

// Workspace is one that can be called.
type Workspace struct {
	Name  string      `json:"name"`
	Tools []wire.Tool `json:"tools"`
}

func (r *rest) workspaces(w http.ResponseWriter, _ *http.Request, who Identity) {
	out := []Workspace{}
	for _, name := range r.h.Workspaces() {
		if tools, ok := r.h.tools(name); ok && who.reaches(name) {
			out = append(out, Workspace{name, tools})
		}
	}
	_ = answer(w, http.StatusOK, out) // the client may be gone
}

// begin makes a call. The body is its arguments.
func (r *rest) begin(w http.ResponseWriter, req *http.Request, who Identity) {
	release, ok := r.holdBody(w, req, who)
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
		fail(w, http.StatusRequestTimeout, string(tool.Timeout), fmt.Sprintf("nothing came of the body for %v", slowbody.Usual))
		return
	case err != nil:
		return // the client is gone
	}
	f, wait, why := callIn(req, body, who)
	if why != "" {
		fail(w, http.StatusBadRequest, wire.Malformed, why)
		return
	}
	named := req.URL.Query().Get("workspace")
	if named != "" && !who.reaches(named) {
		r.refuse(w, req, who, http.StatusForbidden, wire.Forbidden, fmt.Sprintf("this token is for workspace %q alone", who.Workspace))
		return
	}
	workspace, err := r.h.workspaceFor(who, named)
	if err != nil {
		_ = answer(w, http.StatusOK, underID(failure(tool.HostUnavailable, err.Error()), callName(f)))
		return
	}
	q := &request{done: make(chan struct{}), waiting: make(chan struct{})}
	q.call = &call{h: r.h, f: *f, to: workspace, who: who, account: who.ID}
	q.call.tell = func(f wire.Frame) {
		if _, ok := f.(*wire.ToolResult); ok {
			q.once.Do(func() { close(q.waiting) })
		}
	}
	q.call.f.TakesParts = true // which are put together here
	q.call.done = func(result *wire.ToolResult, release func()) {
		q.result, q.release = result, release
		r.expire(q)
		close(q.done)
	}
	again := r.h.mayRepeat(workspace, f.ToolName)
	r.mu.Lock()
	before := r.of[f.CallID]
	twice := before != nil && !(before.over() && again)
	var over []clientSession
	if !twice {
		r.of[f.CallID] = q
		over = r.visit(clientSession{f.Session, workspace})
	}
	r.mu.Unlock()
	for _, v := range over {
		r.h.leave(v)
	}
	if twice {
		fail(w, http.StatusConflict, wire.Malformed, fmt.Sprintf(
			"this call_id was used before in this session: a call is done once; GET /v1/sessions/%s/calls/%s has its result",
			req.PathValue("session"), callName(f)))
		return
	}
	r.h.start(q.call)
	r.follow(w, req, q, wait)
}

// patience is how long a request waits for room in memory before it is told to come
// again, and retryAfter what it is told, in seconds.
const (
	patience   = 5 * time.Second
	retryAfter = "5"
)

// holdBody takes the room in memory that a request's body needs, or answers the
// request.
func (r *rest) holdBody(w http.ResponseWriter, req *http.Request, who Identity) (release func(), ok bool) {
	size := req.ContentLength
	if limit := int64(r.h.config.Limits.Frame); size < 0 || size > limit {
		size = limit
	}
	ctx, cancel := context.WithTimeout(req.Context(), patience)
	defer cancel()
	release, err := budget.Acquire(ctx, size, r.h.tokens.Of(who.ID), r.h.config.Memory)
	switch {
	case err == nil:
		return release, true
	case errors.Is(err, budget.ErrTooLarge):
		r.refuse(w, req, who, http.StatusRequestEntityTooLarge, string(tool.FileTooLarge), "the body is larger than the gateway can hold")
	case req.Context().Err() == nil:
		w.Header().Set("Retry-After", retryAfter)
		fail(w, http.StatusServiceUnavailable, string(tool.RateLimited), "the gateway holds too many bytes for other calls: try again in "+retryAfter+" s")
	}
	return nil, false
}

// visit notes where a session makes calls, and returns what is over thereby. The
// caller holds mu.
func (r *rest) visit(v clientSession) (over []clientSession) {
	if r.visits[v] {
		return nil
	}
	if len(r.latest) == maxVisits {
		over = append(over, r.latest[0])
		delete(r.visits, r.latest[0])
		r.latest = slices.Delete(r.latest, 0, 1)
	}
	r.visits[v] = true
	r.latest = append(r.latest, v)
	return over
}

// callIn is the call that a request makes.
func callIn(req *http.Request, body []byte, who Identity) (f *wire.ToolCall, wait time.Duration, why string) {
	query := req.URL.Query()
	f = &wire.ToolCall{
		ToolName: req.PathValue("tool"), Arguments: body, Client: req.UserAgent(),
		Session: who.sessionOf(req.PathValue("session")),
	}
	if len(body) == 0 {
		f.Arguments = json.RawMessage("{}")
	} else if !json.Valid(body) || firstByte(body) != '{' {
		return nil, 0, "the body must be the call's arguments, a JSON object"
	}
	id := query.Get("call_id")
	if id == "" {
		id = newID()
	} else if !isName(id) {
		return nil, 0, "call_id is letters, digits, dots, - and _"
	}
	f.CallID = f.Session + "/" + id
	for _, n := range []struct {
		key string
		to  *int
	}{{"timeout_seconds", &f.TimeoutSeconds}, {"approval_timeout_seconds", &f.ApprovalTimeoutSeconds}} {
		if v := query.Get(n.key); v != "" {
			var err error
			if *n.to, err = strconv.Atoi(v); err != nil || *n.to < 1 {
				return nil, 0, n.key + " is a whole number, 1 or more"
			}
		}
	}
	wait, why = waitIn(req)
	return f, wait, why
}

func firstByte(body []byte) byte {
	for _, c := range body {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// waitIn is how long a request wants to wait.
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

func callName(f *wire.ToolCall) string { return f.CallID[len(f.Session)+1:] }

// underID is a result under the caller's id.
func underID(r *wire.ToolResult, id string) *wire.ToolResult {
	own := *r
	own.CallID = id
	return &own
}

// follow answers a request with the call's result, or says that it goes on: it can
// be awaited then. A request that is given up before it waits for a person ends the
// call.
func (r *rest) follow(w http.ResponseWriter, req *http.Request, q *request, wait time.Duration) {
	late := time.NewTimer(wait)
	defer late.Stop()
	id := callName(&q.call.f)
	select {
	case <-q.done:
		sent := answer(w, http.StatusOK, underID(q.result, id))
		if sent == nil && len(q.result.Result) > smallAnswer {
			r.mu.Lock()
			r.forget(q) // it is not kept: it takes much room
			r.mu.Unlock()
		}
	case <-late.C:
		select {
		case <-q.waiting:
			_ = answer(w, http.StatusAccepted, &wire.ToolResult{CallID: id, NeedsConfirmation: true})
		default:
			_ = answer(w, http.StatusAccepted, &wire.Progress{CallID: id, State: wire.Working})
		}
	case <-req.Context().Done():
		select {
		case <-q.waiting:
		default:
			q.call.cancel()
		}
	}
}

// expire forgets a result some time after it came. Till then it can be fetched
// again: an answer may be lost on its way.
func (r *rest) expire(q *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, q)
	for r.bytes += q.kept(); r.bytes > maxKept && len(r.ended) > 1; {
		r.forget(r.ended[0])
	}
	keep := kept
	if len(q.result.Result) > smallAnswer {
		keep = keptLarge
	}
	q.expires = time.AfterFunc(keep, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(q)
	})
}

// forget lets go of a result, once. Who waits for it has it. The caller holds mu.
func (r *rest) forget(q *request) {
	if i := slices.Index(r.ended, q); i >= 0 {
		r.ended = slices.Delete(r.ended, i, i+1)
		r.bytes -= q.kept()
		q.release()
		q.expires.Stop()                          // which holds the result
		if id := q.call.f.CallID; r.of[id] == q { // else the call was made again
			delete(r.of, id)
		}
	}
}

// find returns the call that a request is about, or answers it.
func (r *rest) find(w http.ResponseWriter, req *http.Request, who Identity) *request {
	r.mu.Lock()
	q := r.of[who.sessionOf(req.PathValue("session"))+"/"+req.PathValue("call")]
	r.mu.Unlock()
	if q == nil {
		fail(w, http.StatusNotFound, string(tool.InvalidArgument), "there is no such call, or its result is not kept any more")
	}
	return q
}

func (r *rest) await(w http.ResponseWriter, req *http.Request, who Identity) {
	wait, why := waitIn(req)
	if why != "" {
		fail(w, http.StatusBadRequest, wire.Malformed, why)
		return
	}
	if q := r.find(w, req, who); q != nil {
		r.follow(w, req, q, wait)
	}
}

func (r *rest) cancel(w http.ResponseWriter, req *http.Request, who Identity) {
	if q := r.find(w, req, who); q != nil {
		q.call.cancel()
		r.follow(w, req, q, usualWait)
	}
}

// end ends a session: its calls, and what it was granted.
func (r *rest) end(w http.ResponseWriter, req *http.Request, who Identity) {
	session := who.sessionOf(req.PathValue("session"))
	r.mu.Lock()
	var calls []*call
	for _, q := range r.of {
		if q.call.f.Session == session {
			calls = append(calls, q.call)
		}
	}
	var over []clientSession
	r.latest = slices.DeleteFunc(r.latest, func(v clientSession) bool {
		if v.name != session {
			return false
		}
		over = append(over, v)
		delete(r.visits, v)
		return true
	})
	r.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
	for _, v := range over {
		r.h.leave(v)
	}
	w.WriteHeader(http.StatusNoContent)
}
