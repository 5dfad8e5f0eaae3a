package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/stet-dev/stet/record"
)

// failure is an error that stet itself answers with.
type failure struct {
	status  int
	kind    string // "type" of the error, in the words of the wire format
	code    string // "code", where the wire format has one
	message string
}

// write answers with f in the shape that clients of api read.
func (f failure) write(w http.ResponseWriter, api string) {
	var body any
	if api == record.Messages || api == record.CountTokens {
		body = map[string]any{
			"type":  "error",
			"error": map[string]any{"type": f.kind, "message": f.message},
		}
	} else {
		body = map[string]any{
			"error": map[string]any{"message": f.message, "type": f.kind, "param": nil, "code": f.code},
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		text = []byte("{}")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no answer
}

func forbidden(message string) failure {
	return failure{http.StatusForbidden, "permission_error", "forbidden", "stet: " + message}
}

func badRequest(message string) failure {
	return failure{http.StatusBadRequest, "invalid_request_error", "bad_request", "stet: " + message}
}

func unreachable(upstream, cause string) failure {
	return failure{http.StatusBadGateway, "api_error", "upstream_unreachable", "stet: no answer from " + upstream + ": " +
		cause + "; check the upstream's address and that it is up, then try again"}
}

func closing() failure {
	return failure{http.StatusServiceUnavailable, "api_error", "closing", "stet: the proxy is closing"}
}

func methodNotAllowed(method string) failure {
	return failure{http.StatusMethodNotAllowed, "invalid_request_error", "method_not_allowed",
		"stet: " + method + " is not passed on"}
}

func upgradeRequired() failure {
	return failure{http.StatusUpgradeRequired, "invalid_request_error", "upgrade_required",
		"stet: there is no WebSocket here: POST the request"}
}
