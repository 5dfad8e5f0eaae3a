// Package anthropic implements the Messages API: the formats of requests and responses, their usage and session keys.
package anthropic

import (
	"cmp"

	"github.com/stet-dev/stet/llm"
)

// Messages is the codec of the Messages API (POST /v1/messages and /v1/messages/count_tokens). The zero value is ready to use.
//
// One message on the wire may become several: the tool results in a user message become messages of role Tool, in the same
// order. A text given as a string and the same text given as a list of one block are decoded to the same part.
// cache_control does not change the parts.
type Messages struct{ llm.InPlace }

// API is the Messages API.
var API = llm.API{
	Name: llm.Messages, Path: "/v1/messages", Codec: Messages{}, CacheRule: "anthropic-5m", Error: errorBody,
	Upstream: "https://api.anthropic.com", Provider: "Anthropic", ListPath: "/v1/models", URLVariable: "ANTHROPIC_BASE_URL", KeyVariable: "ANTHROPIC_API_KEY",
	Reader:    func(emit func(llm.Event)) llm.Reader { return &reader{emit: emit} },
	KeyHeader: "X-Api-Key", Header: map[string]string{"Anthropic-Version": "2023-06-01"},
	ChecksThinking: true,
}

// errorTypes has the type of an error by its status.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}

func errorBody(e llm.ErrorBody) any {
	failure := map[string]any{"type": cmp.Or(e.Type, errorTypes[e.Status], "api_error"), "message": e.Message}
	if e.Details != nil {
		failure["details"] = e.Details
	}
	return map[string]any{"type": "error", "error": failure}
}
