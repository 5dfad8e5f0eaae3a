// Package gemini implements the API of the Gemini models: generateContent, streamGenerateContent and countTokens. It has the
// formats of requests and responses, and their usage. The path of a request names the model, and says whether the answer is
// streamed ([Address]). Both are not in the body.
package gemini

import (
	"cmp"
	"regexp"

	"github.com/stet-dev/stet/llm"
)

// GenerateContent is the codec of this API. The zero value is ready to use.
//
// One content on the wire may become several messages: the function responses in a user's content become messages of role Tool,
// in the same order. A function call without an id gets an id that is made from its position among the calls of the conversation.
// A response gets the id of the call that it answers.
//
// A call with a thought signature cannot be edited. The signature must be sent back in the part that it was made for, and it is
// not documented what else in that part the provider checks.
type GenerateContent struct{ llm.InPlace }

// API is the API of the Gemini models. stet has no client for it.
var API = llm.API{
	Name: llm.Gemini, Serves: "/v1beta/models/…:generateContent", Codec: GenerateContent{}, CacheRule: "gemini", Error: errorBody,
	Upstream: "https://generativelanguage.googleapis.com", Provider: "Google", ListPath: "/v1beta/models", URLVariable: "GOOGLE_GEMINI_BASE_URL",
}

// statusNames has the API's name of an HTTP status.
var statusNames = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "UNIMPLEMENTED", 408: "DEADLINE_EXCEEDED",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func errorBody(e llm.ErrorBody) any {
	return map[string]any{"error": map[string]any{"code": e.Status, "message": e.Message, "status": cmp.Or(statusNames[e.Status], "UNKNOWN")}}
}

// Session implements llm.Codec. The API has no key for a conversation, and the provider's own agent sends none. Other agents may
// send one in a header.
func (GenerateContent) Session(header func(string) string, _ *llm.Request) (conversation, agent string) {
	return llm.FirstHeader(header, "X-Session-Id", "X-Session-Affinity"), ""
}

// Method is the method that a request calls.
type Method string

// The methods whose bodies the codec reads.
const (
	Generate       Method = "generateContent"
	StreamGenerate Method = "streamGenerateContent"
	CountTokens    Method = "countTokens"
)

var address = regexp.MustCompile(`^(?:/v1(?:(?:alpha|beta)[0-9]*)?)?/(?:models|tunedModels)/([^/:]+):([A-Za-z]+)$`)

// Address reads the path of a request, with or without a version. It returns the model and the method. ok is false for any other
// path.
func Address(path string) (model string, method Method, ok bool) {
	m := address.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	switch method = Method(m[2]); method {
	case Generate, StreamGenerate, CountTokens:
		return m[1], method, true
	}
	return "", "", false
}
