// Package gemini speaks the API of the Gemini models: generateContent,
// streamGenerateContent and countTokens, and what their requests and responses say of
// usage. The model, and whether the answer is to be streamed, stand in the path of a
// request ([Address]), not in its body.
package gemini

import (
	"regexp"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// GenerateContent is the codec of this API. The zero value is ready.
//
// One content on the wire may become several messages: the function responses in what
// the user says form messages of role Tool, in the order in which they stand. A function
// call without an id gets one that says where it stands among the calls of the
// conversation; a response is given the id of the call that it answers.
//
// A call that carries a thought signature cannot be edited: the signature must come back
// in the part that it was made for, and what else the provider checks there is not
// documented.
type GenerateContent struct{}

var _ llm.Codec = GenerateContent{}

// Patch implements llm.Codec.
func (GenerateContent) Patch(dst, body []byte, req *llm.Request, edits []llm.Edit) ([]byte, error) {
	placed, err := req.Place(edits)
	if err != nil {
		return dst, err
	}
	patches := make([]rawjson.Patch, len(placed))
	for i, p := range placed {
		patches[i] = rawjson.Patch{Span: rawjson.Span(p.Span), Text: p.Text}
	}
	return rawjson.AppendPatched(dst, body, patches)
}

// Session implements llm.Codec. The API has no key for a conversation, neither has
// the agent of its provider. Other agents may send one in a header.
func (GenerateContent) Session(header func(string) string, _ *llm.Request) (conversation, agent string) {
	for _, name := range [...]string{"X-Session-Id", "X-Session-Affinity"} {
		if conversation = header(name); conversation != "" {
			break
		}
	}
	return conversation, ""
}

// Method is what is asked of a model.
type Method string

// The methods whose bodies the codec reads.
const (
	Generate       Method = "generateContent"
	StreamGenerate Method = "streamGenerateContent"
	CountTokens    Method = "countTokens"
)

var address = regexp.MustCompile(`^(?:/v1(?:(?:alpha|beta)[0-9]*)?)?/(?:models|tunedModels)/([^/:]+):([A-Za-z]+)$`)

// Address reads the path of a request, with or without a version: the model and the method. ok is
// false for another path.
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
