package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/llm"
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var arriving *httpguard.Body
	if r.Body != nil && r.Body != http.NoBody && r.Header.Get("Upgrade") == "" {
		arriving = httpguard.NewBody(p.base, w, r, standstill)
		r = r.WithContext(r.Context())
		r.Body, w = arriving, arriving.Answer(w)
	}
	at, r, unknown := p.agentOf(r)
	to := at.of(r)
	why := p.forbids(r)
	if why == nil && p.answersItself(w, r) {
		return
	}
	switch {
	case why != nil:
	case unknown != nil: // the path names an agent without upstreams of its own
		why = failed(http.StatusNotFound, "not_found_error", "unknown_agent", unknown.Error())
	case to.upstream == nil:
		why = unknownProvider(r.URL.Path, to)
	}
	if why != nil {
		p.metrics.request(to.api, why.status)
		p.counted(why).write(w, to.format())
		return
	}
	if to.bedrock {
		p.untouched.Do(func() {
			p.log.Warn("requests to Bedrock pass untouched, and nothing is left out of them: their signature covers the body", "upstream", to.upstream.Host)
		})
	}
	if !p.enter() {
		p.counted(closing()).write(w, to.format())
		return
	}
	defer p.work.Done()
	if asksForSocket(r) {
		p.bridge(w, r, at.responses)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.base, func() {
		cancel()
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // ends a running upload, if w supports it
	})()

	x := p.newExchange(to, r)
	x.arriving = arriving
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	defer p.finish(x)
	if why := p.take(x, r); why != nil {
		x.stop(why)
		p.counted(why).write(w, x.format())
		return
	}
	p.forwarder.ServeHTTP(w, r)
}

// stop records that a request does not go upstream, and is answered with f.
func (x *exchange) stop(f *failure) { x.row.Status, x.stopped, x.ended = f.status, true, true }

// take reads the body of a request for a model, and prepares what goes upstream. It returns why nothing goes; nil: it does.
func (p *Proxy) take(x *exchange, r *http.Request) *failure {
	if x.codec == nil {
		return nil
	}
	why, err := x.body.receive(r, p.config.MaxBody, &p.buffers, &p.budget)
	if err != nil {
		x.row.Passed = string(why)
		if p.base.Err() != nil {
			return closing()
		}
		return unread(err)
	}
	if refusal := p.prepare(x, r.Header, why); refusal != nil {
		return refusal
	}
	if x.row.Passed == string(threaded) && p.config.RefuseThreads && !p.unchanged {
		return noThreads() // nothing known here can be used to shorten the new messages
	}
	return nil
}

// forbids returns why r may not be served; nil: it may. Its Host is not allowed (an attacker can point a name at this machine), a web
// page of another origin sent it, or its method is not passed on.
func (p *Proxy) forbids(r *http.Request) *failure {
	if why := (httpguard.Check{Hosts: p.config.AllowedHosts}).Refusal(r); why != "" {
		return failed(http.StatusForbidden, "permission_error", "forbidden", why)
	}
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		return failed(http.StatusMethodNotAllowed, "invalid_request_error", "method_not_allowed", r.Method+" is not passed on")
	}
	return nil
}

// Refuse answers a request that is not served with an error in the form of its API; status is 401 or 403.
func (p *Proxy) Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	kind, code := "authentication_error", "unauthorized"
	if status == http.StatusForbidden {
		kind, code = "permission_error", "forbidden"
	}
	at, r, _ := p.agentOf(r)
	p.counted(failed(status, kind, code, why)).write(w, at.of(r).format())
}

// answersItself answers a request for one of stet's own endpoints. It reports whether it did.
func (p *Proxy) answersItself(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, http.StatusOK, "ok")
	case "/readyz":
		if err := p.Ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
		} else {
			answer(w, http.StatusOK, "ok")
		}
	case "/metrics":
		p.gather.ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone needs no answer
}

// failure is an error with which stet itself answers a request.
type failure struct {
	status  int
	kind    string // "type" of the error in the wire format
	code    string // "code" of the error, if the wire format has one
	message string
	retry   string // the Retry-After header, in seconds; empty: none
	detail  string // "error_code" of the error's details, in the Messages API; empty: there are none
}

// write sends f in the error format of api.
func (f *failure) write(w http.ResponseWriter, api string) {
	e := llm.ErrorBody{Status: f.status, Type: f.kind, Code: f.code, Message: f.message}
	if f.detail != "" {
		e.Details = map[string]any{"error_code": f.detail}
	}
	text, err := json.Marshal(apiNamed(api).Error(e))
	if err != nil {
		text = []byte("{}")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.retry != "" {
		h.Set("Retry-After", f.retry)
	}
	if f.status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no answer
}

// event returns f as an event of the Responses API's WebSocket; lane may be empty.
func (f *failure) event(lane string) []byte {
	text, _ := json.Marshal(struct { // strings and numbers always marshal
		Type   string         `json:"type"`
		Status int            `json:"status"`
		Error  map[string]any `json:"error"`
		Lane   string         `json:"stream_id,omitempty"`
	}{"error", f.status, map[string]any{"type": f.kind, "code": f.code, "message": f.message, "param": nil}, lane})
	return text
}

// failed returns an error of stet. message says what to do.
func failed(status int, kind, code, message string) *failure {
	return &failure{status: status, kind: kind, code: code, message: "stet: " + message}
}

func badRequest(message string) *failure {
	return failed(http.StatusBadRequest, "invalid_request_error", "bad_request", message)
}

// noThreads is the answer of a server that keeps no message threads. The client then sends the whole conversation again and
// uses no more threads.
func noThreads() *failure {
	f := badRequest("no threads are kept here (capability_rejected: beta_header:message-threads-2026-08-12): send the whole conversation")
	f.detail = "thread_unsupported_request"
	return f
}

func unreachable(upstream, cause string) *failure {
	return failed(http.StatusBadGateway, "api_error", "upstream_unreachable",
		"no answer from "+upstream+": "+cause+"; check the upstream's address and that it is up, then try again")
}

func closing() *failure {
	return failed(http.StatusServiceUnavailable, "api_error", "closing", "the proxy is closing")
}

// unknownProvider rejects a request of the endpoint to, whose provider is not known, or which carries the key of another one.
func unknownProvider(path string, to endpoint) *failure {
	advice := "have the agent ask that provider itself"
	if to.unset != "" {
		advice = "name its base URL with --" + to.unset + ", or " + advice
	}
	if to.stranger != "" {
		return failed(http.StatusNotFound, "not_found_error", "other_provider",
			clip(path, 100)+" goes to "+to.owner+", and the request has a key of "+to.stranger+", which goes to no other provider: "+advice)
	}
	return failed(http.StatusNotFound, "not_found_error", "unknown_provider",
		"it is not known which provider "+clip(path, 100)+" is for, and no key goes to another one: "+advice)
}
