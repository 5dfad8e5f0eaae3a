package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/stet-dev/stet/llm"
)

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
func (f failure) write(w http.ResponseWriter, api string) {
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
	w.WriteHeader(f.status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no answer
}

// event returns f as an event of the Responses API's WebSocket; lane may be empty.
func (f failure) event(lane string) []byte {
	text, _ := json.Marshal(struct { // strings and numbers always marshal
		Type   string         `json:"type"`
		Status int            `json:"status"`
		Error  map[string]any `json:"error"`
		Lane   string         `json:"stream_id,omitempty"`
	}{"error", f.status, map[string]any{"type": f.kind, "code": f.code, "message": f.message, "param": nil}, lane})
	return text
}

func forbidden(message string) failure {
	return failure{status: http.StatusForbidden, kind: "permission_error", code: "forbidden", message: "stet: " + message}
}

func badRequest(message string) failure {
	return failure{status: http.StatusBadRequest, kind: "invalid_request_error", code: "bad_request", message: "stet: " + message}
}

// noThreads is the answer of a server that keeps no message threads. The client then sends the whole conversation again and
// uses no more threads.
func noThreads() failure {
	f := badRequest("no threads are kept here (capability_rejected: beta_header:message-threads-2026-08-12): send the whole conversation")
	f.detail = "thread_unsupported_request"
	return f
}

func unreachable(upstream, cause string) failure {
	return failure{status: http.StatusBadGateway, kind: "api_error", code: "upstream_unreachable", message: "stet: no answer from " + upstream + ": " +
		cause + "; check the upstream's address and that it is up, then try again"}
}

func closing() failure {
	return failure{status: http.StatusServiceUnavailable, kind: "api_error", code: "closing", message: "stet: the proxy is closing"}
}

// unknownAgent rejects a request whose path names an agent without upstreams of its own.
func unknownAgent(err error) failure {
	return failure{status: http.StatusNotFound, kind: "not_found_error", code: "unknown_agent", message: "stet: " + err.Error()}
}

// unknownProvider rejects a request of the endpoint to, whose provider is not known, or which carries the key of another one.
func unknownProvider(path string, to endpoint) failure {
	advice := "have the agent ask that provider itself"
	if to.unset != "" {
		advice = "name its base URL with --" + to.unset + ", or " + advice
	}
	if to.stranger != "" {
		return failure{status: http.StatusNotFound, kind: "not_found_error", code: "other_provider",
			message: "stet: " + clip(path, 100) + " goes to " + to.owner + ", and the request has a key of " + to.stranger + ", which goes to no other provider: " + advice}
	}
	return failure{status: http.StatusNotFound, kind: "not_found_error", code: "unknown_provider",
		message: "stet: it is not known which provider " + clip(path, 100) + " is for, and no key goes to another one: " + advice}
}

func methodNotAllowed(method string) failure {
	return failure{status: http.StatusMethodNotAllowed, kind: "invalid_request_error", code: "method_not_allowed", message: "stet: " + method + " is not passed on"}
}
